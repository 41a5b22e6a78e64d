package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika/internal/api"
)

// How many entries a page of a conversation has.
const (
	fewEntries  = 50
	mostEntries = 500
)

// page reads a page of a conversation, of at most [maxText] bytes.
func page(ctx context.Context, to api.Service, conversation string, since int64, limit int) (Said, error) {
	if limit <= 0 {
		limit = fewEntries
	}
	list, err := to.Entries(ctx, conversation, api.Page{After: strconv.FormatInt(max(since, 0), 10), Limit: min(limit, mostEntries)})
	out := Said{Conversation: conversation, Entries: []Line{}, Next: since, More: list.Next != ""}
	if err != nil {
		return out, err
	}
	left := maxText
	for _, e := range list.Items {
		line := Line{Seq: e.Seq, From: e.From, Type: e.Type}
		if line.Text, line.Cut = cut(e.Content, maxText); len(line.Text) > left && len(out.Entries) > 0 {
			out.More = true
			break
		}
		left -= len(line.Text)
		out.Entries, out.Next = append(out.Entries, line), e.Seq
	}
	return out, nil
}

func (s Said) ok() bool { return true }

func (s Said) text() string {
	if len(s.Entries) == 0 {
		return fmt.Sprintf("Nothing was said in %s after %d.", s.Conversation, s.Next)
	}
	var b strings.Builder
	for _, e := range s.Entries {
		from := e.From
		if e.Type != "message" {
			from += " (" + e.Type + ")"
		}
		fmt.Fprintf(&b, "#%d %s: %s\n", e.Seq, from, e.Text)
		if e.Cut > 0 {
			fmt.Fprintf(&b, "[%d bytes are left out]\n", e.Cut)
		}
	}
	if s.More {
		fmt.Fprintf(&b, "There is more: read with since = %d.\n", s.Next)
	}
	return b.String()
}

func (s *server) addResources(to *sdk.Server) {
	to.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "agent", Title: "An agent of fika", URITemplate: "fika://agent/{name}", MIMEType: "application/json",
		Description: "Who an agent is, and what it does now.",
	}, s.resource)
	to.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "conversation", Title: "A conversation", URITemplate: "fika://conversation/{name}{?since}", MIMEType: "application/json",
		Description: "What was said in a chat or another conversation, a page at a time: next is since of the next page.",
	}, s.resource)
}

// resource reads an agent or a page of a conversation.
func (s *server) resource(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	at, err := url.Parse(r.Params.URI)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	to, name := s.caller(r.ClientInfo()), strings.TrimPrefix(at.Path, "/")
	var out any
	switch at.Host {
	case "agent":
		for at := ""; out == nil && err == nil; {
			var list api.List[api.AgentInfo]
			list, err = to.Agents(ctx, api.Page{After: at})
			for _, a := range list.Items {
				if a.Name == name {
					out = s.agent(a)
				}
			}
			if at = list.Next; at == "" {
				break
			}
		}
	case "conversation":
		since, _ := strconv.ParseInt(at.Query().Get("since"), 10, 64) // anything else: from the beginning
		out, err = page(ctx, to, name, since, 0)
	}
	switch api.CodeOf(err) {
	case "":
	case api.NotFound, api.Denied, api.Invalid:
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	default:
		return nil, err
	}
	if out == nil {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}}, nil
}
