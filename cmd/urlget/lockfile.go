package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/internal/atomicfile"
)

// maxLockFile limits the size of a lock file, in bytes.
const maxLockFile = 64 << 20

type lockFile struct {
	name    string
	content []byte
	locks   []*download.Manifest
	changed map[int][]byte // lines of --update, by number
}

// readLocks reads a lock file, which may be standard input. An invalid line is an error before
// anything is sent.
func readLocks(o *flags.LockFile, stdin io.Reader, name string) (*lockFile, error) {
	in := stdin
	if name == "-" && o.Update {
		return nil, failure.Usagef("--update cannot rewrite standard input")
	}
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, failure.File(err)
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.Size() > maxLockFile {
			return nil, tooLarge(name, maxLockFile)
		}
		in = file
	}
	content, err := readAtMost(in, name, maxLockFile)
	if err != nil {
		return nil, failure.File(err)
	}
	f := &lockFile{name: name, content: content, changed: make(map[int][]byte)}
	for l, err := range download.ReadLocks(bytes.NewReader(content)) {
		if err != nil {
			if errors.As(err, new(*json.UnmarshalTypeError)) || errors.As(err, new(*json.SyntaxError)) {
				err = errors.New("not a line of a lock file: " + jsonMistake(err))
			}
			return nil, failure.Usagef("%s:%d: %v", name, l.Line, err)
		}
		f.locks = append(f.locks, l)
	}
	return f, nil
}

// each calls pass for each line until it returns false, and reports whether it did not.
func (f *lockFile) each(rep *reporter, pass func(argument) bool) bool {
	rep.con.Expect(len(f.locks))
	if len(f.locks) == 0 {
		rep.say("no URLs in %s", fetch.Printable(f.name))
	}
	for _, l := range f.locks {
		if !pass(argument{lock: l, pos: fmt.Sprintf("%s:%d", f.name, l.Line)}) {
			return false
		}
	}
	return true
}

// replace replaces a line if the new one differs in more than the time. It returns the part that
// changed, or "".
func (f *lockFile) replace(old, new *download.Manifest) (changed string, err error) {
	switch {
	case old.Checksum != new.Checksum || old.Size != new.Size:
		changed = "content"
	case old.ETag != new.ETag || !old.ModTime.Equal(new.ModTime):
		changed = "validator"
	case old.ContentType != new.ContentType:
		changed = "content type"
	case !slices.Equal(old.URLs[1:], new.URLs[1:]):
		changed = "list of mirrors"
	default:
		return "", nil
	}
	f.changed[old.Line], err = new.LockLine()
	return changed, err
}

// rewrite replaces the file by one with the changed lines. All other lines stay as they are.
func (f *lockFile) rewrite() error {
	if len(f.changed) == 0 {
		return nil
	}
	info, err := os.Stat(f.name)
	if err != nil {
		return failure.File(err)
	}
	switch now, err := os.ReadFile(f.name); {
	case err != nil:
		return failure.File(err)
	case !bytes.Equal(now, f.content):
		return failure.File(fmt.Errorf("%s was changed by another program; it is not updated", f.name))
	}
	var out bytes.Buffer
	n := 0
	for line := range bytes.Lines(f.content) {
		if n++; f.changed[n] != nil {
			line = append(f.changed[n], '\n')
		}
		out.Write(line)
	}
	return failure.File(atomicfile.WriteFile(f.name, out.Bytes(), info.Mode().Perm()))
}
