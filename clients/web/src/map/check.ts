/* check.ts -- the declarations that the package ships fit its program; only the compiler reads this. */
import type * as declared from "../../map/index.js";
import { create } from "./map.ts";

export const same: typeof declared.create = create as (host: HTMLElement, options?: declared.MapOptions) => ReturnType<typeof create>;
