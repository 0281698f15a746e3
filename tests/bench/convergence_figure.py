"""Divergence and recall against time as an SVG file: a column of two panels for each data set."""
import math

WIDTH, HEIGHT, LEFT, TOP, GAP = 190, 150, 46, 30, 62
COLOUR = {"common": "#888888", "rescaled": "#c03030"}
LABEL = {"common": "common schedule (500, 1,000)", "rescaled": "rescaled (250, 400 the default, 1,000)"}
PEER = "#3060c0"


def ticks(low, high):
    """Round numbers between low and high, three to six of them."""
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9)))
    while (high - low) / step < 3:
        step /= 2
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]


class Panel:
    def __init__(self, x, y, times, values):
        self.x, self.y = x, y
        self.t0, self.t1 = (math.log10(f(times)) + d for f, d in ((min, -0.15), (max, 0.15)))
        spread = (max(values) - min(values)) or 0.1
        self.v0, self.v1 = min(values) - 0.08 * spread, max(values) + 0.08 * spread

    def at(self, seconds, value):
        return (self.x + WIDTH * (math.log10(seconds) - self.t0) / (self.t1 - self.t0),
                self.y + HEIGHT * (1 - (value - self.v0) / (self.v1 - self.v0)))

    def frame(self, title):
        out = [f'<rect x="{self.x}" y="{self.y}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
               f'<text x="{self.x + WIDTH / 2}" y="{self.y - 6}" text-anchor="middle">{title}</text>']
        for value in ticks(self.v0, self.v1):
            y = self.at(10 ** self.t0, value)[1]
            out.append(f'<line x1="{self.x}" x2="{self.x + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                       f'<text x="{self.x - 4}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
        for power in range(math.ceil(self.t0), math.floor(self.t1) + 1):
            x = self.at(10 ** power, self.v0)[0]
            out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.y}" y2="{self.y + HEIGHT}" stroke="#ddd"/>'
                       f'<text x="{x:.1f}" y="{self.y + HEIGHT + 13}" text-anchor="middle">{10 ** power:g} s</text>')
        return out


def points(panel, lines, peers, k):
    """k: 1 for the divergence, 2 for recall."""
    out = []
    for name, line in lines.items():
        places = [panel.at(one[0], one[k]) for one in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOUR[name]}" stroke-width="1.5"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOUR[name]}"/>' for x, y in places]
    for name, seconds, *values in peers:
        if values[k - 1] is None:
            continue
        x, y = panel.at(seconds, values[k - 1])
        out.append(f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{PEER}" stroke-width="1.5"/>'
                   f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end" fill="{PEER}">{name}</text>')
    return out


def draw(panels, processor_time):
    """panels: (data, {line: [(seconds, kl, recall)]}, [(program, seconds, kl, recall)])."""
    out = []
    for column, (data, lines, peers) in enumerate(panels):
        every = [one for line in lines.values() for one in line] + [tuple(peer[1:]) for peer in peers]
        times = [max(one[0], 1e-3) for one in every]
        for k, what in ((1, "KL divergence"), (2, "recall of 10")):
            panel = Panel(LEFT + column * (WIDTH + GAP), TOP + (k - 1) * (HEIGHT + 50), times,
                          [one[k] for one in every if one[k] is not None])
            out += panel.frame(f"{data}: {what}") + points(panel, lines, peers, k)
    y = TOP + 2 * HEIGHT + 90
    for i, (name, colour) in enumerate(COLOUR.items()):
        out.append(f'<circle cx="{LEFT + 6 + 270 * i}" cy="{y - 4}" r="3" fill="{colour}"/>'
                   f'<text x="{LEFT + 14 + 270 * i}" y="{y}">{LABEL[name]}</text>')
    time = "ours: processor time of one thread" if processor_time else "ours: computing by the clock"
    out.append(f'<text x="{LEFT + 560}" y="{y}"><tspan fill="{PEER}">\u00d7</tspan> '
               f'other programs, wall time of two cores; {time}</text>')
    width = LEFT + len(panels) * (WIDTH + GAP)
    return ('<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
            f'viewBox="0 0 {max(width, 1000)} {y + 14}" font-size="11">\n'
            '<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(out) + "\n</svg>\n")
