package flags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/external"
	"github.com/urlget/urlget/protocols/nfs"
)

// parseArguments splits the arguments of another program. Blanks separate them, except between
// quotation marks, " or '. The result is not nil.
func parseArguments(text string) ([]string, error) {
	args := []string{}
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
				args = append(args, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quotation mark (%c) is not closed", quote)
	}
	if inWord {
		args = append(args, word.String())
	}
	return args, nil
}

func parsePorts(text string) ([]uint16, error) {
	var ports []uint16
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil || n == 0 {
			return nil, errors.New("must be a port from 1 to 65535")
		}
		ports = append(ports, uint16(n))
	}
	return ports, nil
}

// parseDate reads a point in time in the format of RFC 3339 or of archives. A date alone means the
// beginning of that day in local time.
func parseDate(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.RFC3339, "20060102150405"} {
		if t, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("must be a date such as 2026-01-31, 2026 or 2026-01-31T12:00:00Z")
}

func parseLineEnds(text string) (fetch.LineEnds, error) {
	switch text {
	case "lf", "crlf":
		return fetch.LineEnds(text), nil
	case "as-is":
		return fetch.LineEndsAsIs, nil
	}
	return "", errors.New("must be lf, crlf or as-is")
}

func executes(noRobots *bool) *parsed[bool] {
	return parsedBy(noRobots, func(text string) (bool, error) {
		switch strings.ReplaceAll(text, " ", "") {
		case "robots=off":
			return true, nil
		case "robots=on":
			return *noRobots, nil
		}
		return false, errors.New("only robots=off is supported")
	})
}

// parseNFSUser reads user and group IDs such as 1000, 1000:100 or 1000:100,27.
func parseNFSUser(text string) (*nfs.User, error) {
	uid, gids, grouped := strings.Cut(text, ":")
	words := []string{uid}
	if grouped {
		words = append(words, strings.Split(gids, ",")...)
	}
	ids := make([]uint32, len(words))
	for i, id := range words {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, errors.New("must be numbers such as 1000 or 1000:100,27")
		}
		ids[i] = uint32(n)
	}
	if !grouped {
		return &nfs.User{UID: ids[0], GID: ids[0]}, nil
	}
	return &nfs.User{UID: ids[0], GID: ids[1], GIDs: ids[2:]}, nil
}

func programs(to *map[string]string) *parsed[map[string]string] {
	return parsedBy(to, func(text string) (map[string]string, error) {
		scheme, program, ok := strings.Cut(text, "=")
		scheme = strings.ToLower(scheme)
		if !ok || program == "" || !strings.HasPrefix(scheme, external.Prefix) {
			return nil, errors.New("must be " + external.Prefix + "SCHEME=PROGRAM")
		}
		if *to == nil {
			*to = make(map[string]string)
		}
		(*to)[scheme] = program
		return *to, nil
	})
}

func parseRedirects(text string) ([]string, error) {
	schemes := strings.Split(strings.ToLower(text), ",")
	for _, scheme := range schemes {
		if u, err := uri.Parse(scheme + ":x"); err != nil || u.Scheme() != scheme {
			return nil, errors.New("must be a scheme such as gopher")
		}
		if scheme == "data" {
			return nil, errors.New("redirects to data URLs are never followed")
		}
	}
	return schemes, nil
}

// A FormValue is a value of --form or --form-file. It is parsed later, with errors that do not quote
// it, because it may be secret.
type FormValue struct {
	Text string
	File bool
}

func form(to *[]FormValue, file bool) *list[[]FormValue, FormValue] {
	l := listBy(to, func(text string) ([]FormValue, error) { return []FormValue{{text, file}}, nil })
	l.kind = "field"
	l.show = func(values []FormValue) string {
		if len(values) == 0 {
			return ""
		}
		return values[len(values)-1].Text
	}
	return l
}

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
