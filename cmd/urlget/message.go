package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
)

func (r *reporter) compose(u uri.URI) error {
	draft, err := composeDraft(u)
	if wrong := (*uri.Error)(nil); errors.As(err, &wrong) {
		return &fetch.Error{Op: "compose", Code: fetch.ErrURL, Err: errors.New(wrong.Reason)}
	}
	if err != nil {
		return err
	}
	var out io.Writer = r.std.out
	if r.opts.Output.Document != "-" {
		out = r.textOut()
	}
	_, err = out.Write(draft)
	return failure.File(err)
}

// extract replaces a message by the content selected by --part or --text. url is the requested URL.
// The response has no validator for resuming, because its bytes differ from those on the server.
func extract(o *flags.Options, url uri.URI, resp *fetch.Response) error {
	if !o.Mail.Extracts() {
		return nil
	}
	if err := checkMessage(&resp.Meta); err != nil {
		return err
	}
	name := strings.TrimSuffix(download.Name(url, &resp.Meta), ".eml")
	var content io.Reader
	if o.Mail.Text {
		content = message.Text(resp.Body)
		resp.ContentType, resp.Name = "text/plain; charset=utf-8", name+".txt"
	} else {
		p, err := message.OpenPart(resp.Body, o.Mail.Part)
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

func messageError(err error) error {
	switch {
	case fetch.CodeOf(err) != "":
		return err
	case errors.Is(err, message.ErrNoPart):
		return &fetch.Error{Code: fetch.ErrNotFound, Err: err, Hint: "use --parts to list the parts"}
	case errors.Is(err, message.ErrTooManyParts):
		return &fetch.Error{Code: fetch.ErrTooLarge, Err: err}
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
}
