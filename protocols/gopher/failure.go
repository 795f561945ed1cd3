package gopher

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// maxFailure limits the line of an error message, in bytes.
const maxFailure = 1 << 10

// failure returns an error if the complete reply is a line with an error, for any kind of item.
// Plain Gopher has no other error messages. It only peeks, and does not wait for more bytes than it
// needs.
func (c *conn) failure() error {
	first, err := c.Peek(1)
	if err != nil || first[0] != '3' && first[0] != '0' && first[0] != 'E' {
		return notEOF(err)
	}
	line, err := c.peekLine()
	if err != nil || line == nil {
		return notEOF(err)
	}
	lineErr := failureIn(strings.TrimRight(string(line), "\r\n"))
	if lineErr == nil {
		return nil
	}
	for n := len(line) + 1; n <= len(line)+maxEnd+1; n++ {
		rest, err := c.Peek(n)
		if err == io.EOF && isEnd(rest[len(line):]) {
			return lineErr
		}
		if err != nil {
			return notEOF(err)
		}
	}
	return nil
}

// maxEnd limits what servers send after the content: a line with a dot and empty lines, in bytes. Geomyidae
// ends errors with both.
const maxEnd = 8

func isEnd(tail []byte) bool {
	tail = bytes.Trim(tail, "\r\n")
	return len(tail) == 0 || string(tail) == "."
}

// failureIn returns the error in a line, or nil. Most servers send an item of type 3. Old ones send
// one of type 0 with host "error.host" and port 1. Gophernicus sends a text.
func failureIn(line string) error {
	e := fetch.ErrNotFound.Errorf("the server returned an error")
	title, item := parseItem(line)
	switch {
	case strings.Count(line, "\t") >= 3 &&
		(item.Type == "3" || item.Type == "0" && item.Host == "error.host" && item.Port == 1):
		e.Reply.Text = wire.Text(title)
		if isBusy(title) {
			e.Code, e.Retry = fetch.ErrBusy, true
		}
	case strings.HasPrefix(line, "Error: File or directory not found!"):
		e.Reply.Text = wire.Text(line)
	case strings.HasPrefix(line, "Error: Access denied!"):
		e.Code, e.Reply.Text = fetch.ErrRefused, wire.Text(line)
	default:
		return nil
	}
	return e
}

// isBusy reports whether an error says that the item may be had later. Errors for missing items quote
// the selector, which may have any words.
func isBusy(title string) bool {
	title = strings.ToLower(title)
	return !strings.Contains(title, "exist") && !strings.Contains(title, "not found") && slices.ContainsFunc(
		[]string{"too many connections", "too many users", "too busy", "try again later", "overloaded"},
		func(words string) bool { return strings.Contains(title, words) })
}

// peekLine returns the first line with its line ending, which may be missing at EOF. It returns nil
// if the line is longer than maxFailure.
func (c *conn) peekLine() ([]byte, error) {
	for n := 1; n <= maxFailure; n = max(n, c.Buffered()) + 1 {
		buf, err := c.Peek(min(max(n, c.Buffered()), maxFailure))
		if i := bytes.IndexByte(buf, '\n'); i >= 0 {
			return buf[:i+1], nil
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func notEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
