/* language.ts -- must be imported before uPlot, which formats numbers in the browser's language when it is loaded.
 * Chromium in the POSIX locale reports `en-US@posix`, which formatters reject: the page would stay empty. */
try {
	new Intl.NumberFormat(navigator.language);
} catch {
	Object.defineProperty(navigator, "language", { value: "en", configurable: true });
}
export {};
