/* progress.c -- draws the progress bar. A narrow terminal shows fewer fields, those on the left; the bar fills the
 * rest. */
#include "clients/cli/common/messages.h"
#include "clients/cli/common/progress.h"

#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_S 0.05  /* least interval between redraws on a terminal */
#define PLAIN_S 2.0    /* between lines elsewhere */
#define BAR_MAX 40
#define BAR_MIN 8

void progress_init(struct progress *p, const struct cli *cli, const char *title)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	bool dumb = !term || !strcmp(term, "dumb");
	*p = (struct progress){.out = stderr, .title = title, .measure = "kl"};
	p->terminal = isatty(STDERR_FILENO) && !dumb;
	p->silent = cli->quiet || (cli->json && !p->terminal);
	p->colour = p->terminal && !(no_color && *no_color);
	p->unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	p->last = p->terminal ? -1 : cli_now();
}

static int terminal_width(void)
{
	struct winsize size;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 1)
		return 80;
	return size.ws_col;
}

static void draw_bar(const struct progress *p, double share, int width)
{
	int filled = (int)(share * width);
	fputs(p->colour ? "\033[32m" : "", p->out);
	for (int i = 0; i < width; i++) {
		if (i == filled)
			fputs(p->colour ? "\033[90m" : "", p->out);
		if (p->unicode && (i < filled || p->colour))
			fputs("\u2501", p->out);
		else
			fputc(i < filled ? '=' : p->unicode ? ' ' : '.', p->out);
	}
	fputs(p->colour ? "\033[0m" : "", p->out);
}

/* Draws title, bar, and as many fields as fit. */
static void draw(struct progress *p, double share, const char *const *fields, int count)
{
	int width = terminal_width() - 1, used = (int)strlen(p->title), shown = 0;
	while (shown < count && used + 2 + (int)strlen(fields[shown]) <= width) {
		used += 2 + (int)strlen(fields[shown]);
		shown++;
	}
	int bar = width - used - 2;
	bar = bar > BAR_MAX ? BAR_MAX : bar;
	fprintf(p->out, "\r\033[K%.*s", width > 0 ? width : 0, p->title);
	if (bar >= BAR_MIN && share >= 0) {
		fputs("  ", p->out);
		draw_bar(p, share, bar);
	}
	for (int i = 0; i < shown; i++)
		fprintf(p->out, "  %s", fields[i]);
	fflush(p->out);
	p->drawn = true;
}

/* True if the next redraw or line is due. */
static bool due(struct progress *p, bool last)
{
	double now = cli_now();
	if (p->silent || (!last && now - p->last < (p->terminal ? REDRAW_S : PLAIN_S)))
		return false;
	p->last = now;
	return true;
}

static double share_of(double done, double total)
{
	double share = total > 0 ? done / total : 0;
	return share < 0 || isnan(share) ? 0 : share > 1 ? 1 : share;
}

/* Writes the measure: "KL 2.3812", "log likelihood -48312.1". */
static void value_text(char *text, size_t room, const char *measure, double value)
{
	*text = 0;
	if (isnan(value))
		return;
	if (!strcmp(measure, "kl"))
		snprintf(text, room, "KL %.4f", cli_without_minus(value));
	else
		snprintf(text, room, "%s %.6g", measure, value);
	for (char *at = text; (at = strchr(at, '_')); )
		*at = ' ';
}

void progress_iterations(struct progress *p, double done, double total, double value, double per_second, double eta_s,
			 const char *note)
{
	char count[48], measured[64], speed[32] = "", eta[40] = "", time[24];
	if (!due(p, done >= total))
		return;
	snprintf(count, sizeof count, "%.0f/%.0f", done, total);
	value_text(measured, sizeof measured, p->measure, value);
	if (!isnan(per_second) && per_second > 0)
		snprintf(speed, sizeof speed, per_second < 100 ? "%.1f it/s" : "%.0f it/s", per_second);
	if (note)
		snprintf(eta, sizeof eta, "%s", note);
	else if (!isnan(eta_s))
		snprintf(eta, sizeof eta, "%s left", cli_seconds_text(eta_s, time));
	const char *const all[] = {count, measured, speed, eta};
	const char *fields[4];
	int shown = 0;
	for (int i = 0; i < 4; i++)
		if (*all[i])
			fields[shown++] = all[i];
	if (p->terminal) {
		draw(p, share_of(done, total), fields, shown);
		return;
	}
	fprintf(p->out, "%s: iteration %.0f of %.0f", p->title, done, total);
	for (int i = 1; i < shown; i++)
		fprintf(p->out, ", %s", fields[i]);
	fputc('\n', p->out);
}

void progress_bytes(struct progress *p, double done, double total)
{
	char have[24], all[24], both[64];
	if (!due(p, false))
		return;
	snprintf(both, sizeof both, "%s of %s", cli_bytes_text(done, have), cli_bytes_text(total, all));
	const char *const fields[] = {both};
	if (p->terminal)
		draw(p, share_of(done, total), fields, 1);
	else
		fprintf(p->out, "%s: %s\n", p->title, both);
}

void progress_phase(struct progress *p, const char *what)
{
	const char *const fields[] = {what};
	if (p->silent)
		return;
	if (p->terminal)
		draw(p, -1, fields, 1);
	else if (due(p, false))
		fprintf(p->out, "%s: %s\n", p->title, what);
}

void progress_finish(struct progress *p, bool erase)
{
	if (p->drawn) {
		fputs(erase ? "\r\033[K" : "\n", p->out);
		fflush(p->out);
	}
	p->drawn = false;
}
