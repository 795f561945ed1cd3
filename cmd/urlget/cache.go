package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/cache"
	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/atomicfile"
	"github.com/urlget/urlget/internal/filelock"
)

// missingFile is the list of the URLs that --offline did not find, in the directory of the cache.
const missingFile = "missing.txt"

// openCache opens the archives in the directory of --cache and, unless --offline is set, names the
// archive for this run.
func (n *network) openCache() error {
	o := &n.opts.Archive
	if err := os.MkdirAll(o.Cache, 0o700); err != nil {
		return failure.File(err)
	}
	dir := cacheDir{o.Cache, n.rep.say}
	if err := dir.check(); err != nil {
		return failure.File(err)
	}
	stored, err := dir.open()
	if err != nil {
		return failure.File(err)
	}
	stored.KeepRecent()
	for _, damage := range stored.Damage() {
		n.rep.say("%v", damage) // an earlier run was killed
	}
	key, err := cacheKey(filepath.Join(o.Cache, "key"), n.opts.Login.User)
	if err != nil {
		return failure.File(err)
	}
	n.archives.cache = &cache.Options{Archive: stored, Offline: o.Offline, Key: key}
	if o.Offline {
		n.archives.cache.Missing = (&missingList{name: filepath.Join(o.Cache, missingFile),
			report: n.rep.say}).add
		return nil
	}
	lock, err := os.OpenFile(filepath.Join(o.Cache, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return failure.File(err)
	}
	o.Index = true
	if dir.holds(stored, "cache.warc.gz") && filelock.Try(lock) == nil {
		n.archives.lock = lock
		o.WARC, o.Append = filepath.Join(o.Cache, "cache"), true
		return nil
	}
	lock.Close() // another run appends to the common archive, or it is none
	o.WARC = filepath.Join(o.Cache,
		time.Now().UTC().Format("20060102T150405.000Z")+"-"+strconv.Itoa(os.Getpid()))
	return nil
}

// cacheKey returns the key of the responses that a user may use: a digest of the user name of --user with
// the key in a file, which is created if there is none. Without the file, the responses cannot be used.
func cacheKey(name, user string) ([]byte, error) {
	secret, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = atomicfile.WriteFile(name, []byte(rand.Text()), 0o600) // another run may do the same
		if err == nil {
			secret, err = os.ReadFile(name)
		}
	}
	user, _, _ = strings.Cut(user, ":")
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(user))
	return mac.Sum(nil), err
}

func (n *network) addCache(list []fetch.Middleware) []fetch.Middleware {
	if n.opts.Archive.Cache == "" || !n.opts.Archive.At.IsZero() {
		return list
	}
	return append(list, func(next fetch.Driver) fetch.Driver {
		var once sync.Once
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			// the archives are open by now
			once.Do(func() { next = cache.Middleware(*n.archives.cache)(next) })
			return next.Open(ctx, req)
		})
	})
}

// loadSeen adds the contents of the cache to seen, so that they are stored once.
func (v *archives) loadSeen(seen *capture.Seen) {
	for _, file := range v.cache.Archive.Files() {
		if index, err := os.Open(warc.IndexName(file)); err == nil {
			seen.Load(index) // without an index, contents are stored again
			index.Close()
		}
	}
}

// closeCache closes the cache, and removes the archive of this run if it has no exchanges.
func (v *archives) closeCache() error {
	if v.cache == nil {
		return nil
	}
	err := failure.File(v.cache.Archive.Close())
	if v.lock != nil { // unlocked last, so that no other run writes to a file that is removed
		defer v.lock.Close()
	}
	if v.writer == nil {
		return err
	}
	for _, name := range v.writer.Files() {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if hasOneRecord(f) {
			os.Remove(name)
			os.Remove(warc.IndexName(name))
		}
		f.Close()
	}
	return err
}

func hasOneRecord(f *os.File) bool {
	r, err := warc.NewReader(f)
	if err != nil {
		return false
	}
	defer r.Close()
	_, first := r.Next()
	_, second := r.Next()
	return first == nil && errors.Is(second, io.EOF)
}

// A missingList appends URLs to a list for -i.
type missingList struct {
	name   string
	report func(format string, args ...any)
	known  sync.Map // URLs
}

func (l *missingList) add(u uri.URI) {
	u = u.WithoutFragment().WithoutPassword()
	if _, known := l.known.LoadOrStore(u, true); known {
		return
	}
	f, err := os.OpenFile(l.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, u)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		l.report("the list of missing URLs: %v", err)
	}
}
