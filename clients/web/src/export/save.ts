/* save.ts -- downloads a blob as a file. */
export function saveBlob(blob: Blob, name: string): void {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export const fileName = (title: string, ending: string): string =>
	`${title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "layout"}.${ending}`;
