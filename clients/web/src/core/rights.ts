/* rights.ts -- whether one may change anything here: who looks by a public link, or is a reader, may not. */
import { link } from "./api.ts";
import { me } from "./projects.ts";
import { use } from "./signal.ts";

export const useRights = (): boolean => use(me)?.role !== "reader" && !link;
