/* options.h -- options that several commands have. */
#ifndef CLI_COMMANDS_OPTIONS_H
#define CLI_COMMANDS_OPTIONS_H

#define LABELS_OPTIONS \
	{0, "labels", "FILE", "Labels of the nodes, which colour pictures: one per line in the order of the nodes; or a " \
	 "table (.csv, .tsv) with the nodes' names or numbers in a column, or one row for each node; or an .npy of " \
	 "integers or strings. A header line is allowed."}, \
	{0, "labels-column", "NAME", "Columns of the file of labels to use, by title or number, with commas between " \
	 "them. Default: all; the one that says most as colours is the first."}

#define RESULT_OPTIONS \
	{'o', "output", "FILE", "Write the layout to this file: .npy (float32, one row per node, in the order of the " \
	 "input), .csv (with names and labels) or .json."}, \
	{0, "picture", "FILE", "Write a picture of the layout to this file: .png or .svg. A .png lacks Chinese, Japanese " \
	 "and Korean letters, an .svg has all."}, \
	{0, "picture-size", "PIXELS", "Width and height of the picture, 16 to 4096: 800, or 1200x800. Default: 1024."}, \
	{0, "picture-light", NULL, "Light background, for printing."}, \
	{0, "picture-names", NULL, "Write the labels' names on the map, where most of their nodes are."}, \
	{0, "picture-dpi", "DPI", "Resolution for print, 36 to 1200: the size of text is 8 points, and the file tells " \
	 "the resolution. Default: text grows with the picture."}, \
	{0, "picture-no-legend", NULL, "Draw no legend (names of labels, or a bar with numbers)."}, \
	{0, "picture-color", "WHAT", "What the colour shows: a column of labels by its name (or column:NAME), degree, " \
	 "density, job:ID (the clusters or values of another job), or auto (the column of labels that says most as " \
	 "colours: classes, else measurements, never ids; else density). Default: auto."}

#define CLI_TIME_LIMIT_TEXT "End the job with its present layout when it has been running for so long: 2h, 90min. " \
	"Pauses and waiting do not count. Default: the limits of its project and of the server."

#endif
