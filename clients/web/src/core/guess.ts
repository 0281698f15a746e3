/* guess.ts -- detects the kind of a dropped file from its first bytes, shown before the upload if there is a choice.
 * The server decides, with the rules of its readers; numbers from the file's header are added here. */
import { request } from "./api.ts";
import { count } from "./format.ts";
import { npyHeader } from "./npy.ts";
import type { Problem, Taken } from "./types.ts";

export type Role = "coordinate" | "name" | "label" | "ignored";

export interface ColumnGuess {
	column: number;           // from 1
	title: string;
	role: Role;
	examples: string[];
}

/** The schema Preview of proto/openapi.yaml. */
interface Preview {
	kind: "auto" | "graph" | "points" | "neighbours";
	format: string;
	header: boolean;
	columns: number;
	coordinates: number;
	listed: ColumnGuess[];
	label_columns: number[];
	taken: Taken | null;
	problem: Problem | null;
}

export interface Guess extends Preview {
	summary: string;
	numbering: Set<number>;   // columns of numbers that only count the rows
	choices: boolean;         // true if the user has a choice
	whole: boolean;           // the server saw all of the file, not its beginning alone
	warnings: string[];
}

const HEAD_BYTES = 1 << 17;

function summaryOf(p: Preview, head: Uint8Array, warnings: string[]): string {
	if (p.format === "csv")
		return p.columns ? `A table of points: ${count(p.coordinates)} columns of numbers` : "A table of points";
	if (p.format === "edges")
		return "A list of edges, one a line";
	if (p.format === "npz")
		return "A NumPy or SciPy archive";
	const npy = p.format === "npy" ? npyHeader(head) : null;
	if (npy) {
		const [rows = 0, columns = 0] = npy.shape;
		if (npy.shape.length !== 2)
			warnings.push(`The array has ${npy.shape.length} dimensions; a table of points has 2.`);
		return `${count(rows)} points of ${count(columns)} columns (${npy.dtype})`;
	}
	const size = p.format === "mtx" ? new TextDecoder().decode(head).split("\n").find(line => line && !line.startsWith("%"))?.trim().split(/\s+/).map(Number) : null;
	if (size?.length === 3)
		return p.kind === "graph" ? `A graph: ${count(size[0]!)} nodes, ${count(size[2]!)} entries` : `${count(size[0]!)} points of ${count(size[1]!)} columns`;
	return p.format === "mtx" ? "A MatrixMarket file" : p.problem ? "Not a format that is known here" : "The server will look into it";
}

/** options: those of the upload that the user has chosen. */
export async function inspect(file: File, options: Record<string, string> = {}): Promise<Guess> {
	const head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer()), warnings: string[] = [];
	const reply = await request(`/v1/graphs/dry-run?${new URLSearchParams({ name: file.name.slice(0, 200) || "file", ...options })}`,
		{ method: "POST", body: head, headers: { "Content-Type": "application/octet-stream" } });
	const preview = await reply.json() as Preview;
	if (preview.problem)
		warnings.push((preview.problem.line ? `Line ${preview.problem.line}: ` : "") + preview.problem.detail);
	return { ...preview, whole: file.size <= HEAD_BYTES, summary: summaryOf(preview, head, warnings), warnings, choices: preview.listed.some(c => c.role !== "coordinate"),
		numbering: new Set((preview.taken?.listed ?? []).flatMap(c => (c.role === "numbering" ? Array.from({ length: c.last - c.first + 1 }, (_, i) => c.first + i) : []))) };
}
