/* worker.ts -- the thread that filters: messages of core/filter.ts in, results out. */
import { Crossfilter } from "../core/crossfilter.ts";
import type { Answer, Order } from "../core/filter.ts";

let filter: Crossfilter | null = null;
const scope = self as unknown as { onmessage: (e: MessageEvent<Order>) => void; postMessage: (answer: Answer, give: Transferable[]) => void };

scope.onmessage = ({ data: order }) => {
	const began = performance.now();
	if (order.do === "begin")
		filter = new Crossfilter(order.n);
	else if (order.do === "numbers")
		filter!.addNumbers(order.values, order.low, order.high);
	else if (order.do === "words")
		filter!.addCategories(order.codes, order.count, order.most);
	else if (order.do === "range")
		filter!.range(order.place, order.within);
	else if (order.do === "shown")
		filter!.categories(order.place, order.shown);
	else
		filter!.nodes(order.list);
	if (order.turn === undefined)
		return;
	const { pass, total, counts } = filter!.result();
	scope.postMessage({ turn: order.turn, pass, total, counts, ms: performance.now() - began }, [pass.buffer, ...counts.map(c => c.buffer)]);
};
