/* part.ts -- parts of the dashboard that are loaded when they are needed. */

/** Waits for a part, `import("./x.ts")`; its failure is told in words that help. */
export async function part<T>(loading: Promise<T>): Promise<T> {
	try {
		return await loading;
	} catch {
		throw new Error("A part of this page could not be loaded: the server cannot be reached, or it was upgraded since the page was opened. Reload the page.");
	}
}
