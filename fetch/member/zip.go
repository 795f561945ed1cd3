package member

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

const (
	// maxWhole limits the size of a zip file that is read completely if the server has no ranges.
	maxWhole = 1 << 20
	// maxDirectory limits the central directory of a zip file, in bytes. It is about 250,000 members.
	maxDirectory = 32 << 20
	// maxAround limits what is read besides the central directory to find it, in bytes.
	maxAround = 256 << 10
)

func (a *archive) serveZip(req *fetch.Request, name string) (*fetch.Response, error) {
	files, err := a.readDirectory()
	if err != nil {
		return nil, err
	}
	if !isDir(name) {
		f, err := find(files, name)
		switch {
		case err != nil:
			return nil, err
		case f != nil:
			return a.serveFile(req, f)
		}
	}
	below := name
	if !isDir(name) {
		below += "/"
	}
	// A listing needs no more ranges.
	a.Close()
	var found []*zip.File
	for _, f := range files {
		if strings.HasPrefix(plainName(f.Name), below) && !strings.HasSuffix(f.Name, "/") {
			found = append(found, f)
		}
	}
	if len(found) == 0 && name != "" {
		return nil, a.notFound(name)
	}
	u := req.URL.WithoutFragment()
	if below != name {
		u = join(a.url, below)
	}
	resp := respondListing(u)
	if req.Op == fetch.OpStat {
		return resp, nil
	}
	driver.SetParts(resp, func(yield func(driver.Part, error) bool) {
		for _, f := range found {
			if !yield(part(a.zipEntry(f)), nil) {
				return
			}
		}
	}, nil)
	return resp, nil
}

// find returns the file of that name, or nil. Readers of zip files disagree on which of several files
// of one name counts, so that is an error.
func find(files []*zip.File, name string) (found *zip.File, err error) {
	for _, f := range files {
		if plainName(f.Name) != name {
			continue
		}
		if found != nil {
			return nil, fetch.ErrProtocol.Errorf("several members have the name %q", name)
		}
		found = f
	}
	return found, nil
}

func (a *archive) zipEntry(f *zip.File) fetch.Entry {
	size := int64(-1)
	if f.UncompressedSize64 <= math.MaxInt64 {
		size = int64(f.UncompressedSize64)
	}
	return entry(a.url, plainName(f.Name), size, f.Modified)
}

// The general purpose bit of encrypted files (APPNOTE.TXT, section 4.4.4).
const encrypted = 1

// The compression methods besides those of archive/zip (APPNOTE.TXT, section 4.4.5).
const (
	zstdMethod           = zstd.ZipMethodWinZip // 93
	deprecatedZstdMethod = zstd.ZipMethodPKWare // 20
)

// serveFile returns the response for one file. Its CRC is checked at the end of the content.
func (a *archive) serveFile(req *fetch.Request, f *zip.File) (*fetch.Response, error) {
	resp, err := respond(req, a.zipEntry(f))
	if err != nil {
		return nil, err
	}
	resp.ETag = fmt.Sprintf(`"%08x-%d"`, f.CRC32, f.UncompressedSize64)
	if err := unmodified(req, resp.Validator); err != nil {
		return nil, err
	}
	if req.Op == fetch.OpStat {
		a.Close()
		return resp, nil
	}
	switch mode := f.Mode(); {
	case f.Flags&encrypted != 0:
		return nil, unsupported("the member is encrypted")
	case mode&fs.ModeSymlink != 0:
		return nil, unsupported("the member is a link")
	case !mode.IsRegular():
		return nil, unsupported("the member is not a file")
	}
	switch f.Method {
	case zip.Store, zip.Deflate, zstdMethod, deprecatedZstdMethod:
	default:
		return nil, unsupported("compression method %d", f.Method)
	}
	if a.Ranges() && f.CompressedSize64 >= longMember {
		a.directory.r = sequential{a.Resource}
	}
	content, err := f.Open()
	if err != nil {
		return nil, err
	}
	resp.Body = &body{Reader: content, archive: a}
	return resp, nil
}

func (a *archive) readDirectory() ([]*zip.File, error) {
	r, size, err := a.random()
	if err != nil {
		return nil, err
	}
	length, err := checkEnd(r, size)
	if err != nil {
		return nil, err
	}
	a.directory = &budget{r: r, left: length + maxAround}
	z, err := zip.NewReader(a.directory, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	a.directory.left = math.MaxInt64
	for _, method := range []uint16{zstdMethod, deprecatedZstdMethod} {
		z.RegisterDecompressor(method, func(r io.Reader) io.ReadCloser {
			d, err := newZstd(r)
			if err != nil {
				return io.NopCloser(failing{err})
			}
			return io.NopCloser(d)
		})
	}
	return z.File, checkOverlap(z.File, size)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

const hintWhole = "retrieve the whole archive, and open it as a local file"

func (a *archive) random() (io.ReaderAt, int64, error) {
	size := a.Size()
	if a.Ranges() && size >= 0 {
		return a, size, nil
	}
	if size <= maxWhole {
		whole, err := io.ReadAll(io.LimitReader(a, maxWhole+1))
		if err != nil {
			return nil, 0, err
		}
		if len(whole) <= maxWhole {
			return bytes.NewReader(whole), int64(len(whole)), nil
		}
	}
	err := fetch.ErrNotRetrievable.Errorf(
		"the server has no ranges, which a zip file of more than %d bytes takes", maxWhole)
	err.Hint = hintWhole
	return nil, 0, err
}

// A budget limits the bytes that are read. A directory may continue after its stated end.
type budget struct {
	r    io.ReaderAt
	left int64
}

func (b *budget) ReadAt(p []byte, offset int64) (int, error) {
	if int64(len(p)) > b.left {
		return 0, fetch.ErrTooLarge.Errorf("the directory of the zip file is longer than stated")
	}
	b.left -= int64(len(p))
	return b.r.ReadAt(p, offset)
}

// longMember is the compressed size from which a member is read as a stream, in bytes. The response
// goes on after its end, and the client closes it there. Shorter members take ranges.
const longMember = 4 << 20

// A sequential reads from the current position of a resource, so that long reads share a response.
type sequential struct{ r *fetch.Resource }

func (s sequential) ReadAt(p []byte, offset int64) (int, error) {
	if _, err := s.r.Seek(offset, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(s.r, p)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return n, err
}

// Sizes of the records at the end of a zip file (APPNOTE.TXT, sections 4.3.14 to 4.3.16), and of the
// smallest record in the directory (section 4.3.12).
const (
	endSize      = 22
	locatorSize  = 20
	end64Size    = 56
	recordSize   = 46
	maxEndSearch = 65 << 10 // the last record ends with a comment of up to 64 KiB
)

// checkEnd returns the stated size of the central directory. It fails if that or the stated number of
// files exceeds the limits, before archive/zip allocates memory for them. It searches the last record
// in the same places as archive/zip.
func checkEnd(r io.ReaderAt, size int64) (int64, error) {
	tail, at, err := findEnd(r, size)
	if err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	files, length := uint64(le.Uint16(tail[10:])), uint64(le.Uint32(tail[12:]))
	offset := le.Uint32(tail[16:])
	if files == math.MaxUint16 || length == math.MaxUint16 || length == math.MaxUint32 ||
		offset == math.MaxUint32 {
		if record, err := readEnd64(r, at-locatorSize); err != nil {
			return 0, err
		} else if record != nil {
			files, length = le.Uint64(record[32:]), le.Uint64(record[40:])
		}
	}
	switch {
	case length > maxDirectory:
		err := fetch.ErrTooLarge.Errorf("the directory of the zip file has %d bytes, more than %d", length,
			maxDirectory)
		err.Hint = hintWhole
		return 0, err
	case files > length/recordSize || length > uint64(size):
		return 0, zip.ErrFormat
	}
	return int64(length), nil
}

func findEnd(r io.ReaderAt, size int64) (record []byte, at int64, err error) {
	for _, length := range []int64{1 << 10, maxEndSearch} {
		length = min(length, size)
		tail := make([]byte, length)
		if _, err := r.ReadAt(tail, size-length); err != nil && err != io.EOF {
			return nil, 0, err
		}
		for i := len(tail) - endSize; i >= 0; i-- {
			if string(tail[i:i+4]) != "PK\x05\x06" {
				continue
			}
			if comment := int(binary.LittleEndian.Uint16(tail[i+endSize-2:])); i+endSize+comment > len(tail) {
				break // archive/zip accepts no other record before it
			}
			return tail[i:], size - length + int64(i), nil
		}
	}
	return nil, 0, zip.ErrFormat
}

// readEnd64 returns the last record of a zip64 file, or nil. Its locator is at the offset.
func readEnd64(r io.ReaderAt, locator int64) ([]byte, error) {
	if locator < 0 {
		return nil, nil
	}
	b := make([]byte, locatorSize)
	if _, err := r.ReadAt(b, locator); err != nil {
		return nil, err
	}
	if string(b[:4]) != "PK\x06\x07" {
		return nil, nil
	}
	at := binary.LittleEndian.Uint64(b[8:])
	if at > uint64(locator) {
		return nil, zip.ErrFormat
	}
	b = make([]byte, end64Size)
	if _, err := r.ReadAt(b, int64(at)); err != nil {
		return nil, err
	}
	if string(b[:4]) != "PK\x06\x06" {
		return nil, zip.ErrFormat
	}
	return b, nil
}

// checkOverlap returns an error if the files cannot all be parts of an archive of that size. A small
// archive can thus not claim to hold more and more copies of the same bytes.
func checkOverlap(files []*zip.File, size int64) error {
	left := uint64(size)
	for _, f := range files {
		if f.CompressedSize64 > left {
			return fetch.ErrProtocol.Errorf(
				"the members of the zip file overlap, or are longer than the file")
		}
		left -= f.CompressedSize64
	}
	return nil
}
