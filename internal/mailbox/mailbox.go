// Package mailbox finds messages in local mailboxes: mbox files (RFC 4155) and Maildir folders. It
// never writes to them; its index is a separate file.
package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/message"
)

// ErrNotFound is returned by Find and FindPart if the message is in none of the mailboxes.
var ErrNotFound = errors.New("no such message")

// Boxes is a set of mailboxes.
type Boxes struct {
	Paths []string // mbox files and Maildir folders
	// Cache is the directory for the index; "" means no index.
	Cache string
}

// Default returns the user's default mailboxes: $MAIL and ~/Maildir, if they exist.
func Default() []string {
	var paths []string
	candidates := []string{os.Getenv("MAIL")}
	if home, err := os.UserHomeDir(); err == nil {
		candidates = append(candidates, filepath.Join(home, "Maildir"))
	}
	for _, path := range candidates {
		if _, err := os.Stat(path); path != "" && err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// DefaultCache returns the default directory for the index: "urlget" in the user's cache directory,
// or "" if the user has none.
func DefaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "urlget")
}

// A Message is the position of a message in a file.
type Message struct {
	Path   string // the file that contains the message
	Offset int64
	Size   int64
	// Head is the header, of at most message.MaxHeader bytes. It is nil in a Message from Find.
	Head []byte

	contentIDs []string // Content-IDs of the parts, without angle brackets
}

// Open returns the stored bytes of the message.
func (m *Message) Open() (io.ReadCloser, error) {
	f, err := os.Open(m.Path)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, m.Offset, m.Size), f}, nil
}

func (m *Message) id() string {
	return trimID(message.ParseHeader(m.Head).Get("Message-Id"))
}

func trimID(field string) string {
	if i := strings.IndexByte(field, '<'); i >= 0 {
		field = field[i+1:]
	}
	id, _, _ := strings.Cut(field, ">")
	return strings.TrimSpace(id)
}

// All yields the messages of all mailboxes. For a mailbox that cannot be read, it yields an error and
// continues with the next one.
func (b *Boxes) All(ctx context.Context) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		for _, path := range b.Paths {
			units, err := unitsOf(path)
			if err != nil && !yield(nil, err) {
				return
			}
			for _, u := range units {
				for m, err := range u.messages(ctx) {
					if !yield(m, err) {
						return
					}
				}
			}
		}
	}
}

// A unit is scanned and indexed as a whole. It is an mbox file, or one of the folders "cur" and "new"
// of a Maildir.
type unit struct {
	path string
	dir  bool
	info fs.FileInfo
}

// unitsOf returns the units of a mailbox, including those of the subfolders of a Maildir, whose names
// begin with a dot.
func unitsOf(path string) ([]unit, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return []unit{{path, false, info}}, nil
	}
	if !info.IsDir() {
		return nil, pathError(path, "neither a file nor a folder")
	}
	folders := []string{path}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, filepath.Join(path, e.Name()))
		}
	}
	var units []unit
	for _, folder := range folders {
		for _, name := range []string{"cur", "new"} {
			dir := filepath.Join(folder, name)
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				units = append(units, unit{dir, true, info})
			}
		}
	}
	if len(units) == 0 {
		return nil, pathError(path, "not a Maildir: cur and new are missing")
	}
	return units, nil
}

func pathError(path, reason string) error {
	return &fs.PathError{Op: "open mailbox", Path: path, Err: errors.New(reason)}
}

func (u unit) messages(ctx context.Context) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		if !u.dir {
			scanFile(ctx, u.path, mboxFile, yield)
			return
		}
		entries, err := os.ReadDir(u.path)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
				continue
			}
			if !scanFile(ctx, filepath.Join(u.path, e.Name()), messageFile, yield) {
				return
			}
		}
	}
}

// Find returns the message with the Message-ID id, without angle brackets.
func (b *Boxes) Find(ctx context.Context, id string) (*Message, error) {
	return b.find(ctx, keyOf(messageKey, id), func(m *Message) bool { return m.id() == id })
}

// FindPart returns the message that has a part with the Content-ID, without angle brackets.
func (b *Boxes) FindPart(ctx context.Context, contentID string) (*Message, error) {
	return b.find(ctx, keyOf(contentKey, contentID), func(m *Message) bool {
		return slices.Contains(m.contentIDs, contentID)
	})
}

func (b *Boxes) find(ctx context.Context, key []byte, match func(*Message) bool) (*Message, error) {
	index := openIndex(b.Cache)
	defer index.close()
	var problems []error
	for _, path := range b.Paths {
		units, err := unitsOf(path)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, u := range units {
			m, err := u.find(ctx, index, key, match)
			if m != nil || ctx.Err() != nil {
				return m, err
			}
			if err != nil {
				problems = append(problems, err)
			}
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrNotFound, errors.Join(problems...))
	}
	return nil, ErrNotFound
}

func (u unit) find(
	ctx context.Context, index *index, key []byte, match func(*Message) bool,
) (*Message, error) {
	if m, current := index.lookup(u, key); current && m == nil {
		return nil, nil
	} else if current {
		// Check the message, because a unit may have changed without a new time.
		if fresh, err := m.rescan(ctx); err == nil && match(fresh) {
			return m, nil
		}
	}
	var found *Message
	writer := index.writer(u)
	for m, err := range u.messages(ctx) {
		if err != nil {
			writer.abandon()
			return found, err
		}
		if found == nil && match(m) {
			found = &Message{Path: m.Path, Offset: m.Offset, Size: m.Size}
		}
		if writer == nil && found != nil {
			return found, nil
		}
		writer.add(m)
	}
	writer.commit()
	return found, nil
}
