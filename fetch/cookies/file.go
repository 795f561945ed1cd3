package cookies

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/internal/atomicfile"
)

// maxLine bounds a line of a file in bytes.
const maxLine = 16 << 10

// httpOnly is the prefix of the domain of a cookie that is hidden from scripts.
const httpOnly = "#HttpOnly_"

// Read adds the cookies of a file in Netscape format. Each line has seven fields separated by tabs:
// domain, whether subdomains get the cookie, path, whether it requires TLS, expiry, name and value.
// Expiry is in seconds since 1970; 0 means the end of the session. Cookies that have expired, or
// that a server could not have set, are skipped.
//
// Read also skips lines that are not cookies, and returns a [*SkipError]. If there are only such
// lines, the error is another one, because the file probably has another format.
func (j *Jar) Read(r io.Reader) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var wrong *lineError // the first one
	read, skipped := 0, 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimPrefix(strings.TrimSuffix(lines.Text(), "\r"), "\ufeff")
		line, isHTTPOnly := strings.CutPrefix(text, httpOnly)
		if strings.TrimSpace(line) == "" || !isHTTPOnly && line[0] == '#' {
			continue
		}
		c, err := parse(line)
		if err != nil {
			skipped++
			if wrong == nil {
				wrong = &lineError{n, err}
			}
			continue
		}
		read++
		c.httpOnly, c.kept = isHTTPOnly, true
		if c.fits() && c.keepsPrefix() && (c.hostOnly || !isSuffix(c.domain)) {
			j.put(c)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line of more than %d bytes", maxLine)
	} else if err != nil {
		return err
	}
	switch {
	case skipped == 0:
		return nil
	case read == 0:
		return wrong
	}
	return &SkipError{Lines: skipped, Err: wrong}
}

// Replace removes all cookies and adds those of a file, as Read does. Requests get either the former
// cookies or the new ones. If the error is not a [*SkipError], the former cookies remain.
func (j *Jar) Replace(r io.Reader) error {
	added := New()
	added.now = j.now
	err := added.Read(r)
	if _, skipped := errors.AsType[*SkipError](err); err != nil && !skipped {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sites, j.count, j.lastSequence, j.changed = added.sites, added.count, added.lastSequence, true
	return err
}

// A SkipError reports that lines of a file were skipped and that the others were read.
type SkipError struct {
	Lines int   // number of skipped lines
	Err   error // describes the first one. It omits the text, which may be a secret.
}

func (e *SkipError) Error() string {
	if e.Lines == 1 {
		return fmt.Sprintf("%v; 1 line was skipped", e.Err)
	}
	return fmt.Sprintf("%v; %d lines were skipped", e.Err, e.Lines)
}

func (e *SkipError) Unwrap() error { return e.Err }

// A lineError describes an invalid line. It omits the text, which may be a secret.
type lineError struct {
	line int // counted from 1
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

func parse(line string) (*cookie, error) {
	f := strings.Split(line, "\t")
	if len(f) == 6 { // some programs omit the tab before an empty value
		f = append(f, "")
	}
	if len(f) != 7 {
		return nil, errors.New("must have seven fields separated by tabs")
	}
	domain, dotted := strings.CutPrefix(strings.ToLower(f[0]), ".")
	// Some programs write fractions of a second and signs.
	expires, err := strconv.ParseFloat(f[4], 64)
	if err != nil || math.IsNaN(expires) {
		return nil, errors.New("the fifth field is not a time in seconds since 1970")
	}
	if domain == "" || !strings.HasPrefix(f[2], "/") || f[5] == "" {
		return nil, errors.New("the domain, path or name is missing")
	}
	c := &cookie{domain: domain, path: f[2], name: f[5], value: f[6],
		hostOnly: !dotted && !strings.EqualFold(f[1], "TRUE") || isAddress(domain), // RFC 6265, section 5.1.3
		secure:   strings.EqualFold(f[3], "TRUE")}
	if expires != 0 {
		c.expires = time.Unix(int64(min(max(expires, 1), math.MaxInt32*100)), 0)
	}
	return c, nil
}

// Write writes the cookies in the format of Read, oldest first. If session is false, it omits session
// cookies, except those that Read has found.
func (j *Jar) Write(w io.Writer, session bool) error {
	all := j.oldestFirst(func(c *cookie) bool { return session || c.kept || !c.expires.IsZero() })
	out := bufio.NewWriter(w)
	out.WriteString("# Netscape HTTP Cookie File\n")
	for _, c := range all {
		out.WriteString(c.line())
	}
	return out.Flush()
}

// oldestFirst returns the cookies to keep that have not expired.
func (j *Jar) oldestFirst(keep func(*cookie) bool) (all []*cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, list := range j.sites {
		for _, c := range list {
			if !j.expired(c) && keep(c) {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b *cookie) int { return cmp.Compare(a.sequence, b.sequence) })
	return all // stored cookies are immutable
}

func (c *cookie) line() string {
	domain, expires := c.domain, int64(0)
	if !c.hostOnly {
		domain = "." + domain
	}
	if c.httpOnly {
		domain = httpOnly + domain
	}
	if !c.expires.IsZero() {
		expires = c.expires.Unix()
	}
	return strings.Join([]string{domain, truth(!c.hostOnly), c.path, truth(c.secure),
		strconv.FormatInt(expires, 10), c.name, c.value}, "\t") + "\n"
}

func truth(b bool) string { return strings.ToUpper(strconv.FormatBool(b)) }

// Load is Read for the file at path. Errors contain the path and the line number. Save does not write
// skipped lines.
func (j *Jar) Load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = j.Read(f); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
		if _, skipped := errors.AsType[*SkipError](err); !skipped {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changed = false
	return err
}

// Changed reports whether cookies were added or removed since the last Load or Save.
func (j *Jar) Changed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// Save is Write to the file at path, which only its owner may read. It replaces the file atomically, also
// if another process has changed it. See Update.
func (j *Jar) Save(path string, session bool) error {
	return atomicfile.Replace(path, 0o600, func(w io.Writer) error {
		j.mu.Lock()
		j.changed = false
		j.mu.Unlock()
		return j.Write(w, session)
	})
}
