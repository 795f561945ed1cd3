package member

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// serveTar returns the response to req from a tar file.
func (a *archive) serveTar(req *fetch.Request, name string) (*fetch.Response, error) {
	t, err := a.tar()
	if err != nil {
		return nil, err
	}
	if isDir(name) {
		return a.serveTarDir(req, t, name)
	}
	m, err := a.findInTar(t, name, req.Op == fetch.OpGet)
	if err != nil {
		return nil, err
	}
	return a.serveTarFile(req, m)
}

// A tarMember is a member with its content, if that is short, or else the reader of it.
type tarMember struct {
	*tar.Header
	number  int // of its header in the archive, from 0
	content io.Reader
}

// maxKept limits the content of a member that is kept while the later ones are searched, in bytes.
const maxKept = 4 << 20

// findInTar returns the member of a name. If several have it, the last one counts, as for programs that
// extract them in order; so all headers are read. The content of a long member is read again if the
// archive has ranges, or else passed on: a later member of that name is then an error at its end.
func (a *archive) findInTar(t *tarFile, name string, withContent bool) (found *tarMember, err error) {
	inDir := false
	for i := 0; ; i++ {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		inDir = inDir || strings.HasPrefix(tarName(h), name+"/")
		if tarName(h) != name {
			continue
		}
		found = &tarMember{Header: h, number: i}
		switch {
		case !withContent:
		case h.Size <= maxKept:
			content, err := io.ReadAll(t)
			if err != nil {
				return nil, err
			}
			found.content = bytes.NewReader(content)
		case a.format != formatTar || !a.Ranges():
			found.content = &lastOfName{t, t, name}
			return found, nil
		}
	}
	switch {
	case found == nil && inDir:
		err := fetch.ErrRefused.Errorf("it is a directory: %s", join(a.url, name+"/").Redacted())
		err.Reason.Kind = fetch.ReasonDirectory
		return nil, err
	case found == nil:
		return nil, a.notFound(name)
	case withContent && found.content == nil:
		found.content, err = a.reread(found.number)
	}
	return found, err
}

// reread returns the content of a member by the number of its header.
func (a *archive) reread(number int) (io.Reader, error) {
	if _, err := a.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	t, err := a.tar()
	for i := 0; i <= number && err == nil; i++ {
		_, err = t.Next()
	}
	return t, err
}

// A lastOfName is the content of a member. At its end, no later member may have the name.
type lastOfName struct {
	io.Reader
	archive *tarFile
	name    string
}

func (r *lastOfName) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != io.EOF {
		return n, err
	}
	for {
		h, err := r.archive.Next()
		if err != nil {
			return n, err // io.EOF at the end
		}
		if tarName(h) == r.name {
			err := fetch.ErrProtocol.Errorf("a later member has the name %q too", r.name)
			err.Hint = hintWhole
			return n, err
		}
	}
}

// tar returns a reader of the files. A file without compression is read by ranges: only headers, if
// nothing else is needed.
func (a *archive) tar() (*tarFile, error) {
	if a.format == formatTar {
		return &tarFile{Reader: tar.NewReader(a)}, nil
	}
	d, err := decompress(a, a.format)
	if err != nil {
		return nil, err
	}
	unpacked := &limited{r: d, limit: a.maxSize}
	return &tarFile{tar.NewReader(unpacked), unpacked}, nil
}

// A tarFile is a tar file that was decompressed, unless unpacked is nil.
type tarFile struct {
	*tar.Reader
	unpacked io.Reader
}

// Next is like that of tar.Reader, which stops at the blocks that end a tar file. The checksum of a
// compressed one follows them. Bytes after the compressed file are ignored, as by gzip.
func (t *tarFile) Next() (*tar.Header, error) {
	h, err := t.Reader.Next()
	if err != io.EOF || t.unpacked == nil {
		return h, err
	}
	_, err = io.Copy(io.Discard, t.unpacked)
	if err == nil || errors.Is(err, gzip.ErrHeader) || errors.Is(err, zstd.ErrMagicMismatch) {
		err = io.EOF
	}
	return nil, err
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
		return 0, fetch.ErrTooLarge.Errorf("more than %d decompressed bytes", l.limit)
	}
	return n, err
}

func tarName(h *tar.Header) string { return plainName(h.Name) }

func (a *archive) tarEntry(h *tar.Header) fetch.Entry {
	size := int64(-1)
	if h.Typeflag == tar.TypeReg {
		size = h.Size
	}
	return entry(a.url, tarName(h), size, h.ModTime)
}

func (a *archive) serveTarFile(req *fetch.Request, m *tarMember) (*fetch.Response, error) {
	resp, err := respond(req, a.tarEntry(m.Header))
	if err != nil {
		return nil, err
	}
	if err := unmodified(req, resp.Validator); err != nil {
		return nil, err
	}
	switch m.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		resp.Size = m.Size
	case tar.TypeSymlink, tar.TypeLink:
		return nil, unsupported("the member is a link to %q", m.Linkname)
	default:
		return nil, unsupported("the member is not a file")
	}
	if req.Op == fetch.OpStat {
		a.Close()
		return resp, nil
	}
	resp.Body = &body{Reader: m.content, archive: a}
	return resp, nil
}

func (a *archive) serveTarDir(req *fetch.Request, t *tarFile, name string) (*fetch.Response, error) {
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
