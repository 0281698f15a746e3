"""Results of published programs on the data sets in 2-D: (program, seconds, KL divergence, recall of 10 neighbours).

Measured on 2026-11-21, once, 1,000 iterations each, wall time on two virtual cores with reading and writing; KL with
all pairs against P of perplexity 30 (graphs: lambda 10), as `spaceland quality` has it. Recall on pubmed and
facebook-pages is None, since it was measured by another rule for nodes with fewer than ten edges. The benchmark does
not repeat these measurements of other programs."""

PEERS = {
    "pbmc": [("SG-t-SNE-Pi", 2.8, 2.017, 0.348)],
    "letter": [("FIt-SNE 1.2.1", 61, 1.250, 0.642), ("openTSNE 1.0.4", 64, 1.147, 0.652)],
    "pubmed": [("SG-t-SNE-Pi", 5.9, 3.576, None)],
    "facebook": [("SG-t-SNE-Pi", 4.8, 3.235, None)],
    "mnist": [("FIt-SNE 1.2.1", 98, 2.791, 0.381), ("openTSNE 1.0.4", 110, 2.733, 0.390)],
}
