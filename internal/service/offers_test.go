package service_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika"
	"fika/internal/api"
	"fika/internal/repository/worktree"
	"fika/internal/service"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/tool/offer"
)

const offering = `
[guard]
sandbox = "off"
[landing]
check = "true"
[[agents]]
id = "coder"
workspace = "worktree"
tool_permissions = ["offer"]
[[agents]]
id = "plain"
tool_permissions = ["offer"]
`

// An agent offers what is in its own worktree at that moment, whoever its arguments name,
// once for each call, and only while its request runs.
func TestAnAgentOffersItsOwnWork(t *testing.T) {
	h := keyHome{root: t.TempDir()}
	check(t, h.project())
	c, change := openIn(t, h.root, offering)
	ctx := t.Context()
	tree := worktree.TreeOf(h.root, "coder", filepath.Join(h.root, "repo"))
	_, _, err := tree.Open(ctx)
	check(t, err)
	requests := h.atWork(t, c, "coder", "plain")
	desk := service.DeskOf(func(context.Context) (*service.Service, error) { return c, nil })
	call := func(name fika.AgentName, step int, taint string) tool.Call {
		q := requests[name]
		return tool.Call{Name: offer.Name, Agent: name, Request: q.ID, Chain: q.Chain, Step: fmt.Sprintf("%s/%d", q.ID, step), Rights: &fika.Rights{Tools: []string{"offer"}}, Taint: taint}
	}
	write := func(name string) { check(t, os.WriteFile(filepath.Join(tree.Root, name), []byte(name), 0o600)) }
	write("one")
	first, err := desk.Offer(ctx, call("coder", 1, ""), "adds one\n\nand says why")
	check(t, err)
	write("two")
	again, err := desk.Offer(ctx, call("coder", 1, ""), "adds one\n\nand says why")
	check(t, err)
	if first.Number != 1 || first.State != fika.OfferWaiting || first.Title != "adds one" || first.By != "@coder" || first.Request != requests["coder"].ID || first.Rights == nil || again.Tip != first.Tip {
		t.Errorf("%+v\n%+v", first, again)
	}
	newer, err := desk.Offer(ctx, call("coder", 2, ""), "adds two")
	check(t, err)
	if newer.Number != 1 || newer.Tip == first.Tip || newer.Title != "adds two" {
		t.Errorf("%+v", newer)
	}
	refuse := func(what string, kind fika.Kind, words string, err error) {
		t.Helper()
		if !fika.IsKind(err, kind) || !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = desk.Offer(ctx, call("coder", 3, ""), "nothing new")
	refuse("nothing new", fika.Conflict, "in the queue already: offer 1", err)
	_, err = desk.Offer(ctx, call("plain", 1, ""), "x")
	refuse("without a worktree", fika.Invalid, "no worktree of your own", err)
	_, err = desk.Offer(ctx, call("coder", 4, ""), strings.Repeat("x", 5<<10))
	refuse("a long summary", fika.Invalid, "at most 4096 bytes", err)
	_, err = c.Offers().Submit(ctx, "x")
	refuse("a person", fika.Invalid, "only an agent", err)
	write("three")
	tainted, err := desk.Offer(ctx, call("coder", 5, "fetch example.org"), "what the page says")
	check(t, err)
	if tainted.Number != 1 || tainted.State != fika.OfferHeld || tainted.Taint != "fetch example.org" || !strings.Contains(tainted.Reason, "offered by a turn that has read text from outside (fetch example.org)") {
		t.Errorf("%+v", tainted)
	}
	released, err := c.Offers().Retry(ctx, 1, nil)
	check(t, err)
	if released.State != fika.OfferWaiting || released.Tip != tainted.Tip {
		t.Errorf("%+v", released)
	}
	check(t, h.sql(`UPDATE requests SET cancel_at = 1`))
	write("four")
	_, err = desk.Offer(ctx, call("coder", 6, ""), "late")
	refuse("after its end", fika.Denied, "", err)
	change(strings.Replace(offering, `check = "true"`, "", 1))
	check(t, h.sql(`UPDATE requests SET cancel_at = 0`))
	_, err = desk.Offer(ctx, call("coder", 7, ""), "unchecked")
	refuse("without a check", fika.Invalid, "set check in [landing]", err)
}

// A person alone says yes to the command that runs after a push, and to the one that they
// were shown. Who it was is kept.
func TestAPersonSaysYesToWhatRunsAfterAPush(t *testing.T) {
	h := keyHome{root: t.TempDir()}
	check(t, h.project())
	settings := strings.Replace(offering, `check = "true"`, "check = \"true\"\nmode = \"push\"\nafter = \"make known\"", 1)
	c, change := openIn(t, h.root, settings)
	ctx := t.Context()
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(h.root, "fika.db")})
	check(t, err)
	defer db.Close()
	for _, title := range []string{"one", "two"} {
		o, err := db.AddOffer(ctx, fika.Offer{Source: title, Title: title, Tip: title, Into: "main", By: "anna"})
		check(t, err)
		o, err = db.ChangeOffer(ctx, o.Number, func(o *fika.Offer) error { o.State, o.New = fika.OfferLanded, title; return nil })
		check(t, err)
		_, err = db.ChangePush(ctx, []fika.Offer{o}, func(o *fika.Offer) {
			o.Push = fika.OfferPush{State: fika.PushPushed, Remote: "origin", Commit: "two", Command: "make known", After: fika.AfterAsks}
		})
		check(t, err)
	}
	refuse := func(what string, kind fika.Kind, words string, err error) {
		t.Helper()
		if !fika.IsKind(err, kind) || !strings.Contains(fmt.Sprint(err), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	retry := func(c *service.Service, n fika.OfferNumber, accept ...string) error {
		_, err := c.Offers().Retry(ctx, n, accept)
		return err
	}
	program := c.As(api.Principal{Kind: api.Program, Name: "build", Door: api.DoorOpenAI, Agents: []string{"*"}, Most: api.Manages})
	refuse("a program", fika.Denied, "a person alone", retry(program, 2, "make known"))
	refuse("another command", fika.NotFound, `does not ask about "make havoc"`, retry(c, 2, "make havoc"))
	refuse("no command", fika.Conflict, `waits for your yes to "make known"`, retry(c, 2))
	refuse("another command for an older offer", fika.NotFound, `offer 2 does not ask about "make havoc"`, retry(c, 1, "make havoc"))
	if by, err := db.SaidYes(ctx, "make known"); err != nil || by != "" {
		t.Fatalf("%q, %v", by, err)
	}
	check(t, retry(c, 2, "make known"))
	if by, err := db.SaidYes(ctx, "make known"); err != nil || by != "anna" {
		t.Errorf("%q, %v", by, err)
	}
	refuse("twice", fika.Conflict, "offer 2 is landed", retry(c, 2, "make known"))
	o, err := db.Offer(ctx, 2)
	check(t, err)
	_, err = db.ChangePush(ctx, []fika.Offer{o}, func(o *fika.Offer) { o.Push.State, o.Push.Reason = fika.PushWaiting, "origin refuses it" })
	check(t, err)
	check(t, retry(c, 1))
	change(strings.Replace(settings, `mode = "push"`, "", 1))
	refuse("without mode", fika.Conflict, "nothing is pushed", retry(c, 2))
}
