/* rights.ts -- whether the user may change anything; readers and viewers by a public link may not. */
import { link } from "./api.ts";
import { me } from "./projects.ts";
import { use } from "./signal.ts";

export const useRights = (): boolean => use(me)?.role !== "reader" && !link;
