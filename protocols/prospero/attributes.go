package prospero

import (
	"context"
	"io"
	"net"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// attributes requests all attributes of an object. If the object has moved, it returns a redirect.
func (d *opener) attributes(ctx context.Context, o object) (*Link, *fetch.Response, error) {
	a, err := d.ask(ctx, o, o.info("#ALL"))
	if err != nil {
		return nil, nil, err
	}
	defer a.Close()
	host, _, _ := net.SplitHostPort(o.host)
	link := &Link{Host: host, HSOName: o.name}
	known := false
	for {
		l, err := a.Line()
		switch {
		case err == io.EOF && !known:
			return nil, nil, fetch.ErrNotFound.Errorf("the server has no attributes of the object")
		case err == io.EOF:
			return link, nil, nil
		case err != nil:
			return nil, nil, driverError(err)
		}
		switch l[0] {
		case "ATTRIBUTE", "LINK-INFO":
			if err := link.add(l); err != nil {
				return nil, nil, err
			}
			known = true
		case "FORWARDED":
			resp, err := parseForwarded(l)
			return nil, resp, err
		}
		if err := failure(l); err != nil {
			return nil, nil, err
		}
	}
}

func (d *opener) redirect(ctx context.Context, o object) (*fetch.Response, error) {
	link, resp, err := d.attributes(ctx, o)
	if err != nil || resp != nil {
		return resp, err
	}
	places := link.access()
	if len(places) == 0 {
		return nil, fetch.ErrNotRetrievable.Errorf("no supported access method: %q", link.Access)
	}
	return &fetch.Response{Location: places, Body: fetch.NoBody}, nil
}

func (d *opener) stat(ctx context.Context, o object) (*fetch.Response, error) {
	link, resp, err := d.attributes(ctx, o)
	if err != nil || resp != nil {
		return resp, err
	}
	meta := fetch.Meta{ContentType: o.mediaType(), Size: link.size(),
		Name: o.fileName()}
	meta.ModTime = link.modTime()
	if strings.HasPrefix(link.attribute("UNIX-MODES"), "d") {
		meta.Kind, meta.ContentType = fetch.KindListing, "text/x-prospero-links"
	}
	return &fetch.Response{Meta: meta, Body: fetch.NoBody}, nil
}
