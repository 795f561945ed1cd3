package netrc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// A Source answers challenges from a netrc file, which it reads when the first
// one comes. An entry is for the host that the user named: where another
// origin led to the URL, there is no answer.
type Source struct {
	path     string
	optional bool
	read     func() (File, error)
	exposed  error // why its passwords are not used; set by read
}

// New returns a Source for the file at path. A file that is missing or wrong
// is an error of class fetch.ErrFile at the first challenge.
func New(path string) *Source {
	s := &Source{path: path}
	s.read = sync.OnceValues(s.load)
	return s
}

// Default returns a Source for the user's own file: that which the environment
// variable NETRC names, else .netrc in the home directory (_netrc on Windows).
// If there is none, the Source has no answers. A password in a file that other
// users can read or change is refused, as ftp does, with an error of class
// fetch.ErrFile.
func Default() *Source {
	path := os.Getenv("NETRC")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = ""
		}
		name := ".netrc"
		if runtime.GOOS == "windows" {
			name = "_netrc"
		}
		path = filepath.Join(home, name)
	}
	s := New(path)
	s.optional = true
	return s
}

// Path returns the name of the file.
func (s *Source) Path() string { return s.path }

// Credential returns what the file has for the challenge's host and user. The
// error matches fetch.ErrAuth if that is nothing, or was refused before.
func (s *Source) Credential(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	if ch.Attempt > 1 {
		return fetch.Credential{}, fetch.ErrAuth
	}
	e, ok, err := s.lookup(ch)
	switch {
	case err != nil:
		return fetch.Credential{}, err
	case !ok:
		return fetch.Credential{}, fetch.ErrAuth
	}
	return fetch.Credential{User: e.Login, Password: e.Password, Account: e.Account}, nil
}

// Source names the file if it has an answer to the challenge.
func (s *Source) Source(ch fetch.Challenge) string {
	if _, ok, err := s.lookup(ch); err != nil || !ok {
		return ""
	}
	return s.path
}

func (s *Source) lookup(ch fetch.Challenge) (Entry, bool, error) {
	if ch.URL.Host() == "" || !ch.From.IsZero() && ch.From.Origin(0) != ch.URL.Origin(0) {
		return Entry{}, false, nil
	}
	f, err := s.read()
	if err != nil {
		return Entry{}, false, err
	}
	e, ok := f.Lookup(ch.URL.Host(), ch.User)
	if ok && e.Password != "" && e.Login != "anonymous" && s.exposed != nil {
		return Entry{}, false, s.exposed
	}
	return e, ok, nil
}

func (s *Source) load() (File, error) {
	f, err := os.Open(s.path)
	if s.optional && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	defer f.Close()
	entries, err := Parse(f)
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("%s: %w", s.path, err)}
	}
	if s.optional {
		s.exposed = private(f)
	}
	return entries, nil
}

// private returns an error if others than its owner can use the file.
func private(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	if runtime.GOOS != "windows" && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return &fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("%s holds passwords, but others can use it", f.Name()),
			Hint: "chmod 600 " + f.Name()}
	}
	return nil
}

var (
	_ fetch.Credentials      = (*Source)(nil)
	_ fetch.CredentialSource = (*Source)(nil)
)
