package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"

	"golang.org/x/term"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

// compose prints the message that a mailto URL proposes.
func (a *app) compose(u uri.URI) error {
	draft, err := composeDraft(u)
	if wrong := (*uri.Error)(nil); errors.As(err, &wrong) {
		return &fetch.Error{Op: "compose", Code: fetch.ErrURL, Err: errors.New(wrong.Reason)}
	}
	if err != nil {
		return err
	}
	var out io.Writer = a.std.out
	if a.set.output != "-" && term.IsTerminal(int(a.std.out.Fd())) {
		out = &textOnly{w: a.std.out}
	}
	_, err = out.Write(draft)
	return fileError(err)
}

// checkMessageFlags reports contradictions among the flags for messages.
func (s *settings) checkMessageFlags() error {
	chosen := 0
	for _, flag := range []bool{s.compose, s.parts, s.part > 0, s.text} {
		if flag {
			chosen++
		}
	}
	prints := s.compose || s.parts
	switch {
	case chosen == 0:
		return nil
	case chosen > 1:
		return usage("--compose, --parts, --part and --text exclude each other")
	case s.resume || s.newer || s.keep || s.rng != "":
		return usage("-c, -N, -nc and --range are about what a URL names, not about what is made of a message")
	case prints && (s.output != "" && s.output != "-" || s.dir != "" || s.checksum != ""):
		return usage("--compose and --parts print on standard output; -O, -P and --checksum are for files")
	case s.compose && s.json:
		return usage("--compose and --json both want standard output")
	}
	return nil
}

// extracts reports whether part of a message is wanted instead of the message.
func (s *settings) extracts() bool { return s.part > 0 || s.text }

// extract replaces a message by what --part or --text ask for. Url is what the user named. The
// response is left without a validator with which to request the rest, because its bytes are not
// those on the server.
func (s *settings) extract(url uri.URI, resp *fetch.Response) error {
	if !s.extracts() {
		return nil
	}
	if err := checkMessage(&resp.Meta); err != nil {
		return err
	}
	name := strings.TrimSuffix(download.Name(url, &resp.Meta), ".eml")
	var content io.Reader
	if s.text {
		content = message.Text(resp.Body)
		resp.ContentType, resp.Name = "text/plain; charset=utf-8", name+".txt"
	} else {
		p, err := message.OpenPart(resp.Body, int(s.part))
		if err != nil {
			return messageError(err)
		}
		content = p.Body()
		resp.ContentType = cmp.Or(mime.FormatMediaType(p.ContentType, p.Params), p.ContentType)
		extension := path.Ext(download.Name(uri.URI{}, &fetch.Meta{ContentType: p.ContentType}))
		resp.Name = cmp.Or(fetch.SafeName(p.Name), fmt.Sprintf("%s-%d%s", name, p.Number, extension))
	}
	resp.Size, resp.ETag = -1, ""
	resp.Body = &extracted{content, resp.Body}
	return nil
}

// extracted is content derived from other content.
type extracted struct {
	io.Reader
	io.Closer
}

func (e *extracted) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = messageError(err)
	}
	return n, err
}

// checkMessage returns an error for anything but a message.
func checkMessage(meta *fetch.Meta) error {
	what, _, _ := mime.ParseMediaType(meta.ContentType)
	if meta.Kind == fetch.KindObject && what == "message/rfc822" {
		return nil
	}
	if meta.Kind != fetch.KindObject || what == "" {
		what = meta.Kind.String()
	}
	return &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s, not a message", what)}
}

// messageError classifies an error of reading a message.
func messageError(err error) error {
	switch {
	case fetch.CodeOf(err) != "":
		return err
	case errors.Is(err, message.ErrNoPart):
		return &fetch.Error{Code: fetch.ErrNotFound, Err: err, Hint: "--parts lists the parts"}
	case errors.Is(err, message.ErrTooManyParts):
		return &fetch.Error{Code: fetch.ErrTooLarge, Err: err}
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
}
