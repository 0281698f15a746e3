/* recode.ts -- texts that are not UTF-8, such as the CSV of a spreadsheet, become so in the browser, by its own tables of
 * encodings: people with a browser alone have no iconv. */

const MOST_BYTES = 512e6;   // a file of this size still fits into a string

/** Encodings, and what people call them. */
const ENCODINGS: readonly (readonly [string, string])[] = [["windows-1252", "Western European"], ["windows-1250", "Central European"], ["windows-1251", "Cyrillic"], ["shift_jis", "Japanese"], ["gb18030", "Chinese"]];

/** The encodings that a file may have, by the server's complaint about it; none: the complaint is another one. */
export function encodingsFor(complaint: string, file: File): readonly (readonly [string, string])[] {
	if (/\.(gz|zst|zip|tar|tgz)$/i.test(file.name) || file.size > MOST_BYTES)
		return [];
	return /UTF-16 text/.test(complaint) ? [["utf-16", "UTF-16"]] : /not valid UTF-8/.test(complaint) ? ENCODINGS : [];
}

/** The file in UTF-8. Throws if its bytes are none of the encoding. */
export async function recode(file: File, encoding: string): Promise<File> {
	const bytes = new Uint8Array(await file.arrayBuffer()), big = bytes[0] === 0xfe && bytes[1] === 0xff;
	try {
		return new File([new TextDecoder(encoding === "utf-16" ? (big ? "utf-16be" : "utf-16le") : encoding, { fatal: true }).decode(bytes)], file.name);
	} catch {
		throw new Error(`The file is no ${encoding} text.`);
	}
}
