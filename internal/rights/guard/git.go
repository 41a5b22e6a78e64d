package guard

import (
	"slices"
	"strings"
)

// gitGlobal are git's options before its command.
func gitGlobal() grammar {
	return grammar{short: "C:c:pPhv", long: "git-dir= work-tree= namespace= exec-path=? config-env= super-prefix= attr-source= list-cmds= paginate no-pager no-replace-objects bare literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks no-lazy-fetch no-advice html-path man-path info-path help version"}
}

// gitCommands are the commands that git brings along: any other is an alias or a program
// of its own, which may be anything.
const gitCommands = "add am annotate apply archive backfill bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout checkout-index cherry cherry-pick " +
	"citool clean clone column commit commit-graph commit-tree config count-objects credential describe diagnose diff diff-files diff-index diff-pairs diff-tree difftool fast-export fast-import fetch " +
	"fetch-pack fmt-merge-msg for-each-ref format-patch fsck fsck-objects gc get-tar-commit-id grep gui hash-object help history index-pack init init-db interpret-trailers last-modified log ls-files ls-remote " +
	"ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-ours merge-recursive merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes " +
	"pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase receive-pack reflog refs remote repack replace replay repo request-pull rerere reset restore " +
	"rev-list rev-parse revert rm send-pack shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule subtree switch symbolic-ref tag unpack-file unpack-objects " +
	"update-index update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged worktree write-tree lfs credential-cache credential-store"

// git finds out what git runs: other ways to write a command of it, and the commands with
// which it runs programs.
func (c *SimpleCommand) git() running {
	words := c.Words[1:]
	sub, direct := strings.CutPrefix(c.name(), "git-")
	if direct { // git-push, as in /usr/lib/git-core
		c.Also = append(c.Also, append([]Word{{"git", true}, {sub, true}}, words...))
		c.Altered = true
	} else {
		p := gitGlobal().parse(words)
		c.Unsure = c.Unsure || p.unsure
		for _, o := range p.options {
			switch o.name {
			case "c":
				effect := gitSetting(o.value)
				c.Unsure, c.Altered = c.Unsure || effect == redirects, c.Altered || effect == alters
			case "config-env", "exec-path":
				c.Unsure = c.Unsure || o.name == "config-env" || o.value.Text != ""
			case "C", "git-dir", "work-tree", "namespace", "super-prefix":
				if o.name == "C" && o.value.Text == "." {
					continue
				}
				c.Named = max(c.Named, min(2+p.at, len(c.Words)))
			}
		}
		if len(p.operands) == 0 {
			return running{}
		}
		c.Also = append(c.Also, append([]Word{c.Words[0]}, p.operands...))
		if !p.operands[0].Known {
			return running{}
		}
		sub, words = p.operands[0].Text, p.operands[1:]
	}
	at := len(c.Words) - len(words)
	if !has(gitCommands, sub) {
		c.Script, c.Named = true, max(c.Named, at)
	}
	return c.gitCommand(sub, words, at)
}

// gitCommand looks at a command of git and its words, the first of which is the one at
// at.
func (c *SimpleCommand) gitCommand(sub string, words []Word, at int) running {
	r := running{fully: true}
	code := func(options string) {
		for i, w := range words {
			name, value, joined := strings.Cut(w.Text, "=")
			switch {
			case !w.Known || !matchesOption(options, w.Text):
			case joined && strings.HasPrefix(name, "--"):
				r.code = append(r.code, value)
			case len(w.Text) > 2 && !strings.HasPrefix(w.Text, "--"):
				r.code = append(r.code, w.Text[2:])
			case i+1 < len(words) && words[i+1].Known:
				r.code = append(r.code, words[i+1].Text)
			default:
				r.unsure = true
			}
		}
	}
	given := func(options string) bool {
		return slices.ContainsFunc(words, func(w Word) bool { return w.Known && matchesOption(options, w.Text) })
	}
	switch sub {
	case "rebase":
		code("-x --exec")
	case "difftool":
		code("-x --extcmd")
	case "bisect":
		if len(words) > 1 && words[0].Text == "run" {
			r.commands, r.at = []SimpleCommand{{Words: words[1:]}}, at+1
		}
	case "submodule":
		if i := slices.IndexFunc(words, func(w Word) bool { return w.Text == "foreach" }); i >= 0 {
			var text []string
			for _, w := range words[i+1:] {
				if strings.HasPrefix(w.Text, "-") && len(text) == 0 {
					continue
				}
				text = append(text, w.Text)
				r.unsure = r.unsure || !w.Known
			}
			r.code = []string{strings.Join(text, " ")}
		}
	case "grep":
		c.Unsure = c.Unsure || given("-O --open-files-in-pager")
	case "clone", "fetch", "pull", "push", "ls-remote", "fetch-pack", "send-pack", "archive", "remote", "init", "submodule--helper":
		c.Unsure = c.Unsure || given("--upload-pack --receive-pack --exec --template") || sub == "clone" && given("-u -c --config")
	case "filter-branch", "for-each-repo", "hook", "shell", "remote-ext", "remote-fd", "instaweb", "web--browse", "send-email", "daemon", "quiltimport", "svn", "p4", "cvsserver", "http-backend", "sh-setup", "imap-send":
		c.Unsure = true
	}
	return r
}

// gitSetting returns the effect of a setting that git is given with -c.
func gitSetting(w Word) effect {
	key, value, _ := strings.Cut(strings.ToLower(w.Text), "=")
	section, _, _ := strings.Cut(key, ".")
	switch {
	case !w.Known:
	case has("color advice log column", section), has("core.quotepath core.abbrev diff.renames diff.renamelimit merge.conflictstyle init.defaultbranch pull.rebase pull.ff core.autocrlf", key),
		has("core.pager core.editor sequence.editor", key) && has("cat true :", value), has("commit.gpgsign tag.gpgsign", key) && value == "false", section == "pager" && value == "false":
		return harmless
	case has("user.name user.email", key):
		return alters
	}
	return redirects
}
