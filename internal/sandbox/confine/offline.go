package confine

// offline are the variables by which package managers give up at once, with a message,
// when there is no network. Without them some try again for minutes and print nothing.
var offline = []string{
	"npm_config_fetch_retries=0", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false", // npm and pnpm
	"YARN_HTTP_RETRY=0",
	"PIP_RETRIES=0", "PIP_DISABLE_PIP_VERSION_CHECK=1", "UV_OFFLINE=1", "POETRY_REQUESTS_MAX_RETRIES=0",
	"CARGO_NET_OFFLINE=true", "CARGO_NET_RETRY=0",
	"BUNDLE_RETRY=0",
}
