package prospero

import (
	"context"
	"errors"
	"io"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/prospero/message"
)

// contents opens a file that the server itself holds.
func (d *driver) contents(ctx context.Context, o object) (*fetch.Response, error) {
	a, err := d.ask(ctx, o, o.info("CONTENTS"))
	if err != nil {
		return nil, err
	}
	resp, err := a.file(o)
	if err != nil || len(resp.Location) > 0 {
		a.Close()
	}
	return resp, err
}

// file reads up to the token that is the file.
func (a *answer) file(o object) (*fetch.Response, error) {
	for {
		resp, err := a.seek("ATTRIBUTE")
		switch {
		case resp != nil:
			return resp, nil
		case err == io.EOF, errors.Is(err, errNoneFound):
			return nil, errNoContents
		case err != nil:
			return nil, err
		}
		t, err := a.contentsToken()
		if err != nil {
			return nil, asFetch(err)
		}
		if t != nil {
			return &fetch.Response{
				Meta: fetch.Meta{ContentType: o.mediaType(), Size: -1, Name: o.suggestion()},
				Body: &body{answer: a, t: t},
			}, nil
		}
	}
}

// contentsToken reads a line that begins with ATTRIBUTE. If it holds the
// file, which is the last token, that is left unread and returned.
func (a *answer) contentsToken() (*message.Token, error) {
	for i, want := range []string{"ATTRIBUTE", "", "INTRINSIC", "CONTENTS", "SEQUENCE", "DATA"} {
		t, err := a.Token()
		if t == nil || err != nil {
			return nil, err
		}
		word, err := io.ReadAll(io.LimitReader(t, maxWord))
		if err != nil {
			return nil, err
		}
		if i != 1 && string(word) != want {
			_, err := a.Rest()
			return nil, err
		}
	}
	return a.Token()
}

// maxWord bounds the words in front of a file.
const maxWord = 256

// A body is a file within a message. Its end is the end of its token; that
// the rest of the message has arrived is seen to as well.
type body struct {
	*answer
	t   *message.Token
	end bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if !b.end {
		n, err := b.t.Read(p)
		switch {
		case err == nil:
			return n, nil
		case err != io.EOF:
			return n, asFetch(err)
		}
		b.end = true
	}
	if _, err := io.Copy(io.Discard, b.Reader()); err != nil {
		return 0, err
	}
	return 0, io.EOF
}
