/* language.ts -- imported before uPlot, which formats numbers in the browser's language as soon as it is loaded. Chromium in
 * the POSIX locale says `en-US@posix`, which no formatter knows: the whole page would stay empty. */
try {
	new Intl.NumberFormat(navigator.language);
} catch {
	Object.defineProperty(navigator, "language", { value: "en", configurable: true });
}
export {};
