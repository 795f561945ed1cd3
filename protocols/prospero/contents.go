package prospero

import (
	"context"
	"errors"
	"io"

	"github.com/urlget/urlget/fetch"
	codec "github.com/urlget/urlget/internal/codec/prospero"
)

func (d *opener) contents(ctx context.Context, o object) (*fetch.Response, error) {
	// Request the attributes first, because the reply ends with the contents.
	a, err := d.ask(ctx, o, o.info("#ALL")+"\n"+o.objectInfo("CONTENTS"))
	if err != nil {
		return nil, err
	}
	resp, err := a.file(o)
	if err != nil || len(resp.Location) > 0 {
		a.Close()
	}
	return resp, err
}

func (a *response) file(o object) (*fetch.Response, error) {
	var known Link // from the attributes before it
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
		t, err := a.contentsToken(&known)
		if err != nil {
			return nil, driverError(err)
		}
		if t != nil {
			a.done()
			resp := &fetch.Response{
				Meta: fetch.Meta{ContentType: o.mediaType(), Size: -1, Name: o.fileName()},
				Body: &fileBody{response: a, t: t},
			}
			resp.ModTime = known.modTime()
			return resp, nil
		}
	}
}

// contentsToken reads a line that begins with ATTRIBUTE. If the line contains the file, which is
// the last token, that token is returned unread; any other attribute is added to known.
func (a *response) contentsToken(known *Link) (*codec.Token, error) {
	var line codec.Line
	for i, want := range []string{"ATTRIBUTE", "", "INTRINSIC", "CONTENTS", "SEQUENCE", "DATA"} {
		t, err := a.Token()
		if t == nil || err != nil {
			return nil, err
		}
		word, err := io.ReadAll(io.LimitReader(t, maxWord))
		if err != nil {
			return nil, err
		}
		line = append(line, string(word))
		if i != 1 && string(word) != want {
			rest, err := a.Rest()
			if err != nil {
				return nil, err
			}
			return nil, known.add(append(line, rest...))
		}
	}
	return a.Token()
}

// maxWord limits the length of each word before a file, in bytes.
const maxWord = 256

// A fileBody is a file within a message. It ends with its token, once the rest of the message has
// arrived too and reports no failure.
type fileBody struct {
	*response
	t   *codec.Token
	end error // after the token
}

func (b *fileBody) Read(p []byte) (int, error) {
	if b.end == nil {
		n, err := b.t.Read(p)
		switch {
		case err == nil:
			return n, nil
		case err != io.EOF:
			return n, driverError(err)
		}
		b.end = driverError(b.finish())
	}
	return 0, b.end
}

// finish reads the rest of the message. It returns io.EOF if that reports no failure.
func (b *fileBody) finish() error {
	l, err := b.Rest()
	if err == nil && len(l) > 0 {
		return fetch.ErrProtocol.Errorf("the contents have more than one value")
	}
	for err == nil {
		if l, err = b.Line(); err == nil {
			err = failure(l)
		}
	}
	return err
}
