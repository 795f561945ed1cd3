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

// A Source provides credentials from a netrc file, which it reads at the first challenge. It ignores
// foreign challenges, because an entry is for the host that the user named.
type Source struct {
	// Warn, if not nil, is called once with a warning about the file, before its credentials are used
	// for the first time.
	Warn func(warning string)

	path     string
	optional bool
	read     func() (file, error)
	exposed  error  // the reason for refusing passwords; set by read
	warning  string // the argument of Warn
	once     sync.Once
}

// New returns a Source for the file at path. A missing or malformed file is an error of class
// fetch.ErrFile at the first challenge.
func New(path string) *Source {
	s := &Source{path: path}
	s.read = sync.OnceValues(s.load)
	return s
}

// Default returns a Source for the user's own file: $NETRC, or .netrc in the home directory (_netrc
// on Windows). If the file does not exist, the Source has no credentials. If other users can write
// it, its passwords are refused with an error of class fetch.ErrFile. If they can read it, Warn is
// called.
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

// Path returns the path of the file.
func (s *Source) Path() string { return s.path }

// Credential returns the credentials for the challenge's host and user. The error matches
// fetch.ErrAuth if there are none or the server has rejected them.
func (s *Source) Credential(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	if ch.Attempt > 1 || ch.Question {
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

// Source returns the path of the file if it has credentials for the challenge, otherwise "".
func (s *Source) Source(ch fetch.Challenge) string {
	if _, ok, err := s.lookup(ch); err != nil || !ok {
		return ""
	}
	return s.path
}

func (s *Source) lookup(ch fetch.Challenge) (entry, bool, error) {
	if ch.URL.Host() == "" || ch.Foreign {
		return entry{}, false, nil
	}
	f, err := s.read()
	if err != nil {
		return entry{}, false, err
	}
	e, ok := f.lookup(ch.URL.Host(), ch.User)
	if ok && e.Password != "" && e.Login != "anonymous" {
		if s.exposed != nil {
			return entry{}, false, s.exposed
		}
		s.once.Do(func() {
			if s.Warn != nil && s.warning != "" {
				s.Warn(s.warning)
			}
		})
	}
	return e, ok, nil
}

func (s *Source) load() (file, error) {
	if s.optional {
		// The user did not name this file, and opening a named pipe would block.
		info, err := os.Stat(s.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err == nil && !info.Mode().IsRegular():
			return nil, nil
		}
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	defer f.Close()
	entries, err := parse(f)
	if err != nil {
		return nil, fetch.ErrFile.Errorf("%s: %w", s.path, err)
	}
	if s.optional {
		s.warning, s.exposed = private(f)
	}
	return entries, nil
}

// private returns an error if other users can write the file, and a warning if they can read it.
func private(f *os.File) (warning string, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", &fetch.Error{Code: fetch.ErrFile, Err: err}
	}
	mode := info.Mode().Perm()
	switch hint := "chmod 600 " + f.Name(); {
	case runtime.GOOS == "windows":
		return "", nil
	case mode&0o022 != 0:
		return "", &fetch.Error{Code: fetch.ErrFile, Hint: hint,
			Err: fmt.Errorf("%s contains passwords and is writable by other users", f.Name())}
	case mode&0o077 != 0:
		return fmt.Sprintf("%s contains passwords and is readable by other users: %s", f.Name(), hint), nil
	}
	return "", nil
}

var (
	_ fetch.Credentials      = (*Source)(nil)
	_ fetch.CredentialSource = (*Source)(nil)
)
