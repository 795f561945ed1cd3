package main

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/member"
	"github.com/urlget/urlget/fetch/uri"
)

// fallback returns the fallback of the client: members of archives, except in trees, which consist of
// files of a server.
func fallback(o *flags.Options) fetch.Fallback {
	if o.Tree.On() {
		return noMembersInTrees
	}
	return member.Options{MaxSize: o.Limits.MaxSize}.Fallback
}

// noMembersInTrees adds a hint to the error of a URL of the user that may name a member.
func noMembersInTrees(_ context.Context, _ *fetch.Client, req *fetch.Request,
	failed *fetch.Error) (*fetch.Response, error) {
	if _, _, ok := member.Split(req.URL); !ok || failed.Code != fetch.ErrNotFound || !req.From.IsZero() {
		return nil, nil
	}
	hinted := *failed
	hinted.Hint = "members of archives are retrieved one by one, without -r, -m and -p"
	return nil, &hinted
}

// explainMember describes the member of an archive that u may name, or returns "".
func explainMember(u uri.URI) string {
	archive, name, ok := member.Split(u)
	switch {
	case !ok:
		return ""
	case name == "":
		return fmt.Sprintf("all members of %s, if the server does not find the URL", archive.Redacted())
	}
	return fmt.Sprintf("%q in %s, if the server does not find the URL", name, archive.Redacted())
}
