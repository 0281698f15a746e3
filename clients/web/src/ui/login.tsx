/* login.tsx -- asks for the token of a server that requires one. */
import { useState } from "preact/hooks";
import { ApiError, login } from "../core/api.ts";
import { Icon } from "./parts.tsx";

export function Login() {
	const [problem, setProblem] = useState(""), [busy, setBusy] = useState(false);
	const submit = async (form: HTMLFormElement): Promise<void> => {
		setBusy(true);
		setProblem("");
		try {
			await login(String(new FormData(form).get("token")).trim());
		} catch (error) {
			setProblem(error instanceof ApiError && error.status === 401 ? "This is not a token of this server." :
				error instanceof Error ? error.message : String(error));
		}
		setBusy(false);
	};
	return <main class="login">
		<form class="card" onSubmit={e => { e.preventDefault(); void submit(e.currentTarget); }}>
			<img src="ui/icon.svg" alt="" width="44" height="44" />
			<h1>spaceland</h1>
			<p>This server needs a token. Ask whoever runs it for one.</p>
			<label class="field"><span class="field-label">Token</span>
				<input name="token" type="password" autocomplete="current-password" required autofocus aria-describedby="login-problem" /></label>
			<p id="login-problem" class="problem" role="alert">{problem}</p>
			<button class="button primary" type="submit" disabled={busy}><Icon name="key" />Log in</button>
		</form>
	</main>;
}
