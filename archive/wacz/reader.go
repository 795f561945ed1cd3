package wacz

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/archive/internal/digest"
)

const nestedSuffix = ".wacz"

// A Reader reads a WACZ file.
type Reader struct {
	zip    *zip.Reader
	name   string
	files  []File
	nested []*Reader
}

// NewReader reads the directory of a file of the given size, and those of the WACZ files in it. If a WARC or
// WACZ file in it is compressed again, which the specification forbids, NewReader returns an error.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	members := maxMembers
	return newReader(r, size, "", 0, &members)
}

// newReader reads a file at a depth. It subtracts its members from those that are left, because members may
// overlap.
func newReader(r io.ReaderAt, size int64, name string, depth int, left *int) (*Reader, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	if *left -= len(z.File); *left < 0 {
		return nil, fmt.Errorf("%d members; the limit is %d", maxMembers-*left, maxMembers)
	}
	out := &Reader{zip: z, name: name}
	for _, f := range z.File {
		name, inArchive := strings.CutPrefix(f.Name, archiveDir)
		isNested := strings.HasSuffix(name, nestedSuffix)
		if !isNested && !inArchive || name == "" || strings.HasSuffix(name, "/") {
			continue
		}
		part, err := stored(r, size, f)
		switch {
		case err != nil:
		case !isNested:
			out.files = append(out.files, File{name, part})
			continue
		case depth == maxDepth:
			err = fmt.Errorf("more than %d WACZ files in each other", maxDepth)
		default:
			var in *Reader
			if in, err = newReader(part, part.Size(), name, depth+1, left); err == nil {
				out.nested = append(out.nested, in)
				continue
			}
		}
		return nil, fmt.Errorf("%q: %w", f.Name, err)
	}
	if len(out.files)+len(out.nested) == 0 {
		return nil, errors.New("no WARC files")
	}
	return out, nil
}

// stored returns the content of a member that is not compressed.
func stored(r io.ReaderAt, size int64, f *zip.File) (*io.SectionReader, error) {
	if f.Method != zip.Store {
		return nil, errors.New("compressed in the ZIP file")
	}
	offset, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	length, whole := f.UncompressedSize64, uint64(size)
	if length > whole || uint64(offset) > whole-length || f.CompressedSize64 != length {
		return nil, errors.New("not within the file")
	}
	return io.NewSectionReader(r, offset, int64(length)), nil
}

// Name returns the name of a WACZ file in another one, and "" for the outer one.
func (r *Reader) Name() string { return r.name }

// Files returns the WARC files, except those in other WACZ files.
func (r *Reader) Files() []File { return r.files }

// Nested returns the WACZ files in the file.
func (r *Reader) Nested() []*Reader { return r.nested }

// All yields all WARC files. The names of those in other WACZ files begin with the names of these and a
// slash.
func (r *Reader) All() iter.Seq[File] {
	return func(yield func(File) bool) {
		for _, f := range r.files {
			if !yield(f) {
				return
			}
		}
		for _, in := range r.nested {
			for f := range in.All() {
				if !yield(File{in.name + "/" + f.Name, f.SectionReader}) {
					return
				}
			}
		}
	}
}

// IsSigned reports whether the file, or one in it, has a signature (WACZ Signing and Verification 0.1.0).
// Verify does not check it.
func (r *Reader) IsSigned() bool {
	for _, in := range r.nested {
		if in.IsSigned() {
			return true
		}
	}
	text, err := r.read(digestFile)
	var own struct{ SignedData map[string]any }
	return err == nil && (json.Unmarshal(text, &own) != nil || len(own.SignedData) > 0)
}

// Verify checks the members against the description and calls report for each problem. It also verifies the
// WACZ files in the file. Nothing is checked against a signature.
func (r *Reader) Verify(report func(text string)) {
	for _, in := range r.nested {
		in.Verify(func(text string) { report(fmt.Sprintf("%q: %s", in.name, text)) })
	}
	about, text, err := r.description()
	if err != nil {
		report(packageFile + ": " + err.Error())
		return
	}
	if own, err := r.read(digestFile); err == nil {
		var stored struct {
			Hash       string
			SignedData struct{ Hash string }
		}
		sum := sha256.New()
		sum.Write(text)
		switch err, want := json.Unmarshal(own, &stored), digest.SHA256(sum); {
		case err != nil || stored.Hash != want:
			report(packageFile + ": digest mismatch")
		case stored.SignedData.Hash != "" && stored.SignedData.Hash != want:
			report(digestFile + ": the signature is that of another file")
		}
	}
	described := make(map[string]bool)
	for _, s := range about.Resources {
		described[s.Path] = true
		if text := r.check(s); text != "" {
			report(fmt.Sprintf("%q: %s", s.Path, text))
		}
	}
	described[packageFile], described[digestFile] = true, true
	for _, f := range r.zip.File {
		if !described[f.Name] && !strings.HasSuffix(f.Name, "/") {
			report(fmt.Sprintf("%q: not in datapackage.json", f.Name))
		}
	}
}

func (r *Reader) check(s resource) string {
	f, err := r.zip.Open(s.Path)
	if err != nil {
		return "missing"
	}
	defer f.Close()
	sum := sha256.New()
	// Limit members that grow without end when decompressed.
	n, err := io.Copy(sum, io.LimitReader(f, max(s.Bytes, 0)+1))
	switch {
	case err != nil:
		return err.Error()
	case n != s.Bytes:
		return fmt.Sprintf("size is not %d bytes", s.Bytes)
	case strings.HasPrefix(s.Hash, "sha256:") && digest.SHA256(sum) != s.Hash:
		return "digest mismatch"
	}
	return ""
}

// description returns the content of datapackage.json, also as text.
func (r *Reader) description() (about description, text []byte, err error) {
	if text, err = r.read(packageFile); err == nil {
		about, err = parseDescription(text)
	}
	return about, text, err
}

func (r *Reader) read(name string) ([]byte, error) {
	f, err := r.zip.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPackage+1))
	if err == nil && len(text) > maxPackage {
		err = fmt.Errorf("longer than %d bytes", maxPackage)
	}
	return text, err
}
