package member

import (
	"archive/tar"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// serveTar returns the response to req from a tar file. If it has several members of one name, the
// first one counts: later ones are not read.
func (a *archive) serveTar(req *fetch.Request, name string) (*fetch.Response, error) {
	t, err := a.tar()
	if err != nil {
		return nil, err
	}
	if isDir(name) {
		return a.serveTarDir(req, t, name)
	}
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil, a.notFound(name)
		}
		if err != nil {
			return nil, err
		}
		switch found := tarName(h); {
		case found == name:
			return a.serveTarFile(req, t, h)
		case strings.HasPrefix(found, name+"/"):
			err := fail(fetch.ErrRefused, "it is a directory: %s", join(a.url, name+"/").Redacted())
			err.Reason.Kind = fetch.ReasonDirectory
			return nil, err
		}
	}
}

// tar returns a reader of the files. A file without compression is read by ranges: only headers, if
// nothing else is needed.
func (a *archive) tar() (*tar.Reader, error) {
	var r io.Reader = a
	if a.format != formatTar {
		d, err := decompress(a, a.format)
		if err != nil {
			return nil, err
		}
		r = &limited{r: d, limit: a.maxSize}
	}
	return tar.NewReader(r), nil
}

// A limited is the decompressed content. A short file may decompress to any size.
type limited struct {
	r     io.Reader
	limit int64 // 0 for none
	got   int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.got += int64(n); l.limit > 0 && l.got > l.limit {
		return 0, fail(fetch.ErrTooLarge, "more than %d decompressed bytes", l.limit)
	}
	return n, err
}

// tarName returns the name of a member. Many programs begin each name with "./".
func tarName(h *tar.Header) string {
	name := h.Name
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[2:], "/")
	}
	return name
}

func (a *archive) tarEntry(h *tar.Header) fetch.Entry {
	size := int64(-1)
	if h.Typeflag == tar.TypeReg {
		size = h.Size
	}
	return entry(a.url, tarName(h), size, h.ModTime)
}

func (a *archive) serveTarFile(req *fetch.Request, t *tar.Reader, h *tar.Header) (*fetch.Response, error) {
	resp, err := respond(req, a.tarEntry(h))
	if err != nil {
		return nil, err
	}
	if err := unmodified(req, resp.Validator); err != nil {
		return nil, err
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		resp.Size = h.Size
	case tar.TypeSymlink, tar.TypeLink:
		return nil, unsupported("the member is a link to %q", h.Linkname)
	default:
		return nil, unsupported("the member is not a file")
	}
	if req.Op == fetch.OpStat {
		a.Close()
		return resp, nil
	}
	resp.Body = &body{Reader: t, archive: a}
	return resp, nil
}

func (a *archive) serveTarDir(req *fetch.Request, t *tar.Reader, name string) (*fetch.Response, error) {
	resp := respondListing(req.URL.WithoutFragment())
	if req.Op == fetch.OpStat {
		a.Close()
		return resp, nil
	}
	driver.SetParts(resp, func(yield func(driver.Part, error) bool) {
		found := name == ""
		for {
			h, err := t.Next()
			if err == io.EOF && found {
				return
			}
			if err == io.EOF {
				err = a.notFound(name)
			}
			if err != nil {
				yield(driver.Part{}, a.classify(err))
				return
			}
			if !strings.HasPrefix(tarName(h), name) {
				continue
			}
			found = true
			if h.Typeflag != tar.TypeDir && !yield(part(a.tarEntry(h)), nil) {
				return
			}
		}
	}, a.Close)
	return resp, nil
}
