package flags

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/external"
	"github.com/urlget/urlget/protocols/nfs"
)

// unlimited is the value for no limit, in place of a number.
const unlimited = "inf"

// A funcValue is a flag value that is set by a function and has no default in the help.
type funcValue func(text string) error

func (p funcValue) String() string        { return "" }
func (p funcValue) Type() string          { return "text" }
func (p funcValue) Set(text string) error { return p(text) }

// Seconds is the duration of a flag: a number of seconds, as in wget and curl, or with a unit
// ("90", "0.5", "2m"). 0 and "inf" mean no limit.
type Seconds time.Duration

func (s *Seconds) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(time.Duration(*s).Seconds(), 'f', -1, 64)
}

func (s *Seconds) Type() string { return "seconds" }

func (s *Seconds) Set(text string) error {
	if text == unlimited {
		*s = 0
		return nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0 && n <= math.MaxInt64/1e9) {
			return errors.New("out of range")
		}
		*s = Seconds(n * float64(time.Second))
		return nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return errors.New("must be a number of days before d")
		}
		*s = Seconds(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("must be a number of seconds")
	}
	*s = Seconds(d)
	return nil
}

// Size is the number of bytes of a flag, with the suffix "k", "m", "g" or "t" for powers of 1024,
// also as "kB" and "KiB". "inf" means no limit, as does the zero value.
type Size int64

func (s *Size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *Size) Type() string { return "size" }

func (s *Size) Set(text string) error {
	if text == unlimited {
		*s = 0
		return nil
	}
	lower := strings.ToLower(text)
	if short, ok := strings.CutSuffix(lower, "b"); ok {
		lower = strings.TrimSuffix(short, "i")
	}
	Number, unit := lower, 1.0
	if lower != "" {
		if i := strings.IndexByte("kmgt", lower[len(lower)-1]); i >= 0 {
			Number, unit = lower[:len(lower)-1], float64(int64(1)<<(10*(i+1)))
		}
	}
	n, err := strconv.ParseFloat(Number, 64)
	if err != nil || !(n > 0 && n*unit >= 1 && n*unit < math.MaxInt64) {
		return errors.New("must be a number of bytes such as 5000, 64k or 2m")
	}
	*s = Size(n * unit)
	return nil
}

// SpeedLimit is a Size in bytes per second that may be 0.
type SpeedLimit struct{ Size }

func (s *SpeedLimit) Set(text string) error {
	if text == "0" {
		text = unlimited
	}
	return s.Size.Set(text)
}

// Several holds the values of a flag that may be repeated, also under another name.
type Several []string

func (s *Several) String() string { return strings.Join(*s, ",") }
func (s *Several) Type() string   { return "text" }

func (s *Several) Set(text string) error {
	*s = append(*s, text)
	return nil
}

// Arguments are the arguments of another program in the value of a flag. Blanks separate them, except
// between quotation marks, " or '. Arguments are nil if the flag is not set.
type Arguments []string

func (a *Arguments) String() string { return strings.Join(*a, " ") }
func (a *Arguments) Type() string   { return "text" }

func (a *Arguments) Set(text string) error {
	list := []string{}
	var word strings.Builder
	var quote rune // the mark that ends the quotation; 0 outside of one
	inWord := false
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && unicode.IsSpace(c):
			if inWord {
				list = append(list, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return fmt.Errorf("a quotation mark (%c) is not closed", quote)
	}
	if inWord {
		list = append(list, word.String())
	}
	*a = list
	return nil
}

// A Count is a number of times, at least least. "inf" sets the value for no limit.
type Count struct {
	n                *int
	least, unlimited int
}

func (c *Count) String() string {
	if c.n == nil {
		return ""
	}
	return strconv.Itoa(*c.n)
}

func (c *Count) Type() string { return "number" }

func (c *Count) Set(text string) error {
	if text == unlimited {
		*c.n = c.unlimited
		return nil
	}
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) {
		return err
	}
	if err != nil || n < c.least {
		return fmt.Errorf("must be %d or more, or inf", c.least)
	}
	*c.n = n
	return nil
}

// Ports is the list of ports of a flag that may be repeated.
type Ports []uint16

func (p *Ports) Set(text string) error {
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil || n == 0 {
			return errors.New("must be a port from 1 to 65535")
		}
		*p = append(*p, uint16(n))
	}
	return nil
}

// Number is the positive number of a flag.
type Number int

func (n *Number) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func (n *Number) Type() string { return "number" }

func (n *Number) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 {
		return errors.New("must be 1 or more")
	}
	*n = Number(v)
	return nil
}

// Share is the value of --delete: the percentage of files that may be deleted. 0 deletes none.
type Share int

func (s *Share) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.Itoa(int(*s)) + "%"
}

func (s *Share) Type() string { return "percentage" }

func (s *Share) Set(text string) error {
	switch text {
	case "true", "yes", "on", "":
		text = DefaultShare
	case "false", "no", "off":
		*s = 0
		return nil
	}
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil || n < 1 || n > 100 {
		return errors.New("must be a percentage from 1% to 100%")
	}
	*s = Share(n)
	return nil
}

// DefaultShare is the Share of --delete without a value.
const DefaultShare = "50%"

// Date is the point in time of a flag, in the format of RFC 3339. A date alone means the beginning
// of that day in local time.
type Date time.Time

func (d *Date) Set(text string) error {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			*d = Date(t)
			return nil
		}
	}
	for _, layout := range []string{time.RFC3339, "20060102150405"} { // the second one is that of archives
		if t, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			*d = Date(t)
			return nil
		}
	}
	return errors.New("must be a date such as 2026-01-31, 2026 or 2026-01-31T12:00:00Z")
}

// LineEnds is the value of --text-line-ends.
type LineEnds fetch.LineEnds

func (l *LineEnds) Set(text string) error {
	switch text {
	case "lf", "crlf":
		*l = LineEnds(text)
	case "as-is":
		*l = LineEnds(fetch.LineEndsAsIs)
	default:
		return errors.New("must be lf, crlf or as-is")
	}
	return nil
}

// Once is the string value of a flag that must not be repeated.
type Once string

func (o *Once) String() string { return string(*o) }
func (o *Once) Type() string   { return "string" }

func (o *Once) Set(text string) error {
	if *o != "" {
		return errors.New("must not be repeated")
	}
	*o = Once(text)
	return nil
}

// Execute is the value of --execute: wget's command robots=off.
type Execute bool

func (e *Execute) Set(text string) error {
	switch strings.ReplaceAll(text, " ", "") {
	case "robots=off":
		*e = true
	case "robots=on":
	default:
		return errors.New("only robots=off is supported")
	}
	return nil
}

// NFSUser is the value of --nfs-user: a user ID and group IDs.
type NFSUser nfs.Options

// Set parses a user such as 1000, 1000:100 or 1000:100,27.
func (u *NFSUser) Set(text string) error {
	uid, gids, grouped := strings.Cut(text, ":")
	all := []string{uid}
	if grouped {
		all = append(all, strings.Split(gids, ",")...)
	}
	ids := make([]uint32, len(all))
	for i, id := range all {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return errors.New("must be numbers such as 1000 or 1000:100,27")
		}
		ids[i] = uint32(n)
	}
	u.User = &nfs.User{UID: ids[0], GID: ids[0]}
	if grouped {
		u.User.GID, u.User.GIDs = ids[1], ids[2:]
	}
	return nil
}

// Programs is the value of --driver.
type Programs map[string]string

func (p *Programs) Set(text string) error {
	scheme, program, ok := strings.Cut(text, "=")
	if scheme = strings.ToLower(scheme); !ok || program == "" || !strings.HasPrefix(scheme, external.Prefix) {
		return errors.New("must be " + external.Prefix + "SCHEME=PROGRAM")
	}
	if *p == nil {
		*p = make(Programs)
	}
	(*p)[scheme] = program
	return nil
}

// Redirects is the value of --allow-redirect, which may be repeated.
type Redirects []string

func (r *Redirects) Set(text string) error {
	for _, word := range strings.Split(strings.ToLower(text), ",") {
		if u, err := uri.Parse(word + ":x"); err != nil || u.Scheme() != word {
			return errors.New("must be a scheme such as gopher")
		}
		if word == "data" {
			return errors.New("redirects to data URLs are never followed")
		}
		*r = append(*r, word)
	}
	return nil
}

// A Choice is the value of a flag that takes one of several words. Their order is that of the
// constants.
type Choice[T ~uint8] struct {
	value *T
	words []string
}

func (c *Choice[T]) String() string { return c.words[*c.value] }
func (c *Choice[T]) Type() string   { return "mode" }

func (c *Choice[T]) Set(text string) error {
	i := slices.Index(c.words, text)
	if i < 0 {
		last := len(c.words) - 1
		return errors.New("must be " + strings.Join(c.words[:last], ", ") + " or " + c.words[last])
	}
	*c.value = T(i)
	return nil
}

// Segments is the value of --segments.
type Segments int

func (s *Segments) String() string {
	switch *s {
	case 0:
		return ""
	case download.AutoSegments:
		return "auto"
	}
	return strconv.Itoa(int(*s))
}

func (s *Segments) Type() string { return "number" }

func (s *Segments) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case text == "auto":
		*s = download.AutoSegments
	case err != nil || n < 1:
		return errors.New("must be 1 or more, or auto")
	default:
		*s = Segments(n)
	}
	return nil
}

// FormFlag collects the values of --form or --form-file. They are parsed later, with errors that do
// not quote the value, which may be secret.
type FormFlag struct {
	to   *[]FormValue
	file bool
}

func (f *FormFlag) String() string {
	if f.to == nil || len(*f.to) == 0 {
		return ""
	}
	return (*f.to)[len(*f.to)-1].Text
}
func (f *FormFlag) Type() string { return "field" }

func (f *FormFlag) Set(text string) error {
	*f.to = append(*f.to, FormValue{text, f.file})
	return nil
}

// A FormValue is a value of --form or --form-file.
type FormValue struct {
	Text string
	File bool
}

// Pins are digests of public keys. The key of every server must match one of them. The syntax is that
// of curl, sha256//BASE64, with semicolons between several pins, or sha256:HEX.
type Pins [][sha256.Size]byte

func (p *Pins) Set(text string) error {
	for _, word := range strings.Split(text, ";") {
		var digest []byte
		err := errors.New("none")
		if digits, ok := strings.CutPrefix(word, "sha256//"); ok {
			digest, err = base64.StdEncoding.DecodeString(digits)
		} else if digits, ok := strings.CutPrefix(word, "sha256:"); ok {
			digest, err = hex.DecodeString(digits)
		}
		if err != nil || len(digest) != sha256.Size {
			return errors.New("must be a public key digest: sha256//BASE64 or sha256:HEX")
		}
		*p = append(*p, [sha256.Size]byte(digest))
	}
	return nil
}

// Verify is for tls.Config.VerifyConnection. It runs after the verification of the certificate.
func (p Pins) Verify(state tls.ConnectionState) error {
	digest := sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo)
	if !slices.Contains(p, digest) {
		return errors.New("the server's public key does not match --pinned, it is sha256//" + base64.StdEncoding.EncodeToString(digest[:]))
	}
	return nil
}

// Values of --color.
const (
	ColorAuto ColorMode = iota
	ColorAlways
	ColorNever
)

// A ColorMode controls when to use colors.
type ColorMode uint8

// Values of --progress.
const (
	ProgressBar ProgressMode = iota
	ProgressPlain
	ProgressJSON // events on standard error
	ProgressNone
)

// A ProgressMode is a way to show progress.
type ProgressMode uint8

func (c *Choice[T]) options() []string { return c.words }

// ParseRanges parses comma-separated ranges.
func ParseRanges(text string) ([]fetch.Range, error) {
	var list []fetch.Range
	for word := range strings.SplitSeq(text, ",") {
		r, err := parseRange(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// parseRange parses A-B (first and last byte), A- or A (all bytes from A) or -N (the last N bytes).
func parseRange(text string) (fetch.Range, error) {
	wrong := errors.New("malformed range")
	first, last, _ := strings.Cut(text, "-")
	a, errA := strconv.ParseUint(first, 10, 62)
	b, errB := strconv.ParseUint(last, 10, 62)
	switch {
	case first == "" && errB == nil && b > 0:
		return fetch.Range{Offset: -int64(b)}, nil
	case errA != nil:
		return fetch.Range{}, wrong
	case last == "":
		return fetch.Range{Offset: int64(a)}, nil
	case errB != nil || b < a:
		return fetch.Range{}, wrong
	}
	return fetch.Range{Offset: int64(a), Length: int64(b-a) + 1}, nil
}

// wrongValue describes the invalid value of a flag.
func wrongValue(e *pflag.InvalidValueError) string {
	want := e.Unwrap().Error()
	switch {
	case errors.Is(e, strconv.ErrRange):
		want = "the number is too large"
	case errors.Is(e, strconv.ErrSyntax):
		want = "must be a number"
		if e.GetFlag().Value.Type() == "bool" {
			want = "takes no value but true or false"
		}
	}
	return fmt.Sprintf("--%s: %s: %q", e.GetFlag().Name, want, e.GetValue())
}

// FirstLine returns the first line of a file, without its line ending.
func FirstLine(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	line, err := ReadLine(f)
	if err == io.EOF {
		err = nil
	}
	return line, err
}

// maxInputLine limits the length of an input line, in bytes.
const maxInputLine = 64 << 10

// ReadLine reads a line byte by byte, so that other readers get the rest. If it returns an error, the
// line may be incomplete.
func ReadLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < maxInputLine {
		n, err := r.Read(b[:])
		switch {
		case n == 1 && b[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, b[0])
		case err != nil:
			return string(line), err
		}
	}
	return "", io.ErrShortBuffer
}
