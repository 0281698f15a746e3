/* lazy.tsx -- components that are loaded when they are first shown, so that the first load of the page is small. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button, Icon } from "./parts.tsx";

/** A component that is loaded when it is first shown. Until then a line says so; if it cannot be loaded, the line says why,
 * with buttons to try again and to reload. At module level: `const X = lazy(() => import("./x.tsx").then(m => m.X));` */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): (props: P) => preact.JSX.Element {
	let Loaded: ComponentType<P> | null = null;
	return function Lazy(props: P) {
		const [failed, setFailed] = useState(false), [tries, setTries] = useState(0), [, draw] = useState(0);
		useEffect(() => {
			let gone = false;
			if (!Loaded)
				load().then(found => { Loaded = found; if (!gone) draw(n => n + 1); }, () => { if (!gone) setFailed(true); });
			return () => { gone = true; };
		}, [tries]);
		if (Loaded)
			return <Loaded {...props} />;
		if (!failed)
			return <p class="loading part-loading" role="status">Loading …</p>;
		return <div class="part-failed" role="alert"><p>This part of the page could not be loaded: the server cannot be reached, or it was upgraded since the page was opened.</p>
			<div class="row wrap"><Button kind="primary" onClick={() => location.reload()}><Icon name="undo" />Reload the page</Button>
				<Button onClick={() => { setFailed(false); setTries(tries + 1); }}>Try again</Button></div></div>;
	};
}
