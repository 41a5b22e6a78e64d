// Package confinetest fills a home folder with what no confined process may reach: files
// of keys in the places where programs keep them, and sockets bound in every way that
// leaves another name, or none, in the kernel's list. It confines nothing, and is for
// tests alone.
//
// Read first: [Credentials], [Bind].
package confinetest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Credentials lists places in a home folder where programs keep keys, tokens, passwords
// and what somebody has typed. Few of them are known to package guard by name.
func Credentials() []string { return strings.Fields(credentials) }

const credentials = `
.ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/a.key .netrc .npmrc .yarnrc.yml .yarnrc .pypirc .git-credentials .config/git/credentials
.claude.json .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .config/github-copilot/hosts.json .config/opencode/auth.json .local/share/opencode/auth.json
.config/goose/config.yaml .aider.conf.yml .continue/config.json .cursor/mcp.json .config/io.datasette.llm/keys.json .huggingface/token .cache/huggingface/token .kaggle/kaggle.json .config/openai/key
.config/gh/hosts.yml .config/glab-cli/config.yml .config/tea/config.yml .config/hub .config/berg/token
.aws/credentials .azure/msal_token_cache.json .config/gcloud/credentials.db .oci/config .config/doctl/config.yaml .config/hcloud/cli.toml .config/scw/config.yaml .fly/config.yml .pulumi/credentials.json
.config/configstore/firebase-tools.json .config/netlify/config.json .local/share/com.vercel.cli/auth.json .wrangler/config/default.toml .config/.wrangler/config/default.toml .railway/config.json .terraformrc .terraform.d/credentials.tfrc.json .config/ngrok/ngrok.yml .cloudflared/cert.pem
.kube/config .docker/config.json .config/containers/auth.json .local/share/containers/auth.json .config/helm/registry/config.json .m2/settings.xml .gradle/gradle.properties .cargo/credentials.toml .cargo/config.toml .gem/credentials .bundle/config .composer/auth.json .config/composer/auth.json .nuget/NuGet/NuGet.Config .condarc .hex/hex.config .pub-cache/credentials.json
.config/age/keys.txt .config/sops/age/keys.txt .minisign/minisign.key .signify/key.sec .step/secrets/root_ca_key .putty/sessions/a key.pem id_rsa.bak
.bitcoin/wallet.dat .ethereum/keystore/a .electrum/wallets/default .config/solana/id.json .monero/wallet
.mozilla/firefox/p/logins.json .config/google-chrome/Default/Cookies .config/keepassxc/keepassxc.ini .password-store/a.gpg .local/share/keyrings/login.keyring Passwords.kdbx
.thunderbird/p/prefs.js .msmtprc .mbsyncrc .fetchmailrc .mutt/muttrc .offlineimaprc Mail/inbox .config/evolution/a .config/Signal/config.json .config/Slack/Cookies .config/discord/token .config/weechat/sec.conf .irssi/config
.viminfo .vim/undo/a .local/state/nvim/shada/main.shada .config/Code/User/globalStorage/state.vscdb .config/JetBrains/a.xml .emacs.d/auth.el .authinfo .authinfo.gpg .local/share/zed/db
.bash_history .zsh_history .local/share/fish/fish_history .python_history .psql_history .sqlite_history .rediscli_history .lesshst .local/share/mc/history .config/atuin/key .wget-hsts
.pgpass .my.cnf .dbshell .mongorc.js .config/rclone/rclone.conf .s3cfg .boto .smbcredentials .config/remmina/a .vpn/client.ovpn .config/nordvpn/a .wireguard/wg0.conf .env .secrets letters/diary.txt src/other/.env .config/fika/key .config/systemd/user/a.service .local/share/Trash/files/a snap/x/key .var/app/x/data/key .ICEauthority .Xauthority .bashrc
`

// Sockets are the names of what [Bind] makes.
func Sockets() []string {
	return []string{"absolute", "renamed", "linked", "descriptor", "relative", "namespace"}
}

// FIFO is the name of a FIFO that [Bind] makes, with somebody who reads it.
const FIFO = "fifo"

// Bind makes [Sockets] in a folder, each of which says "hi", and [FIFO]. What it has
// started ends with done. It needs python3, and unshare for "namespace".
func Bind(dir string) (done func(), err error) {
	var all []io.Closer
	done = func() {
		for _, c := range all {
			_ = c.Close()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	at := func(name string) string { return filepath.Join(dir, name) }
	open, err := os.Open(dir)
	if err != nil {
		return done, err
	}
	all = append(all, open)
	for _, path := range []string{at("absolute"), at("first"), at("second"), fmt.Sprintf("/proc/self/fd/%d/descriptor", open.Fd())} {
		l, err := net.Listen("unix", path)
		if err != nil {
			return done, err
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		all = append(all, l)
		go greet(l) // ends with the listener
	}
	if err := os.Rename(at("first"), at("renamed")); err != nil {
		return done, err
	}
	if err := os.Link(at("second"), at("linked")); err != nil {
		return done, err
	}
	if err := os.Remove(at("second")); err != nil {
		return done, err
	}
	for name, line := range map[string][]string{"relative": nil, "namespace": {"unshare", "-Urn"}} {
		c, err := listen(dir, name, line)
		if err != nil {
			return done, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, c)
	}
	if err := syscall.Mkfifo(at(FIFO), 0o622); err != nil {
		return done, err
	}
	reader, err := os.OpenFile(at(FIFO), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		all = append(all, reader)
	}
	return done, err
}

func greet(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write([]byte("hi"))
		_ = c.Close()
	}
}

// listen starts a process that binds a relative path; it ends with its stdin.
func listen(dir, name string, line []string) (io.Closer, error) {
	line = append(line, "python3", "-c", `import socket, sys, threading
s = socket.socket(socket.AF_UNIX); s.bind("`+name+`"); s.listen()
def serve():
    while True:
        c, _ = s.accept(); c.send(b"hi"); c.close()
threading.Thread(target=serve, daemon=True).start()
print("up", flush=True); sys.stdin.read()`)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		_ = in.Close()
		_ = cmd.Wait()
		return nil, err
	}
	return closer(func() error { _ = in.Close(); return cmd.Wait() }), nil
}

type closer func() error

// Close implements [io.Closer].
func (c closer) Close() error { return c() }
