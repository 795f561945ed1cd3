package ftp

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// digestCommands lists the commands for a digest of a file, preferred ones first. They are not
// standardized. The reply is "250 HEX", sometimes with other words.
var digestCommands = []struct{ verb, algorithm string }{
	{"XSHA256", "sha-256"}, {"XSHA512", "sha-512"}, {"XSHA1", "sha-1"}, {"XMD5", "md5"},
}

// hashAlgorithms lists the hash functions for HASH, preferred ones first.
var hashAlgorithms = []string{"SHA-256", "SHA-512", "SHA-384", "SHA-224", "SHA-1", "MD5"}

// digest asks the server for a digest of the file, if FEAT lists a command for that. It prefers HASH
// (draft-bryan-ftpext-hash-02). A refusal is not an error.
func (s *session) digest(t *task, size int64) ([]fetch.Digest, error) {
	if !t.req.WantDigest || !t.isImage() {
		return nil, nil
	}
	if s.features == nil {
		if err := s.say(s.feat()); err != nil {
			return nil, err
		}
	}
	if name, selected := preferredHash(s.hashes); name != "" {
		if !selected {
			r, err := s.exchange(step{line: "OPTS HASH " + name})
			if err != nil {
				return nil, err
			}
			if selected = r.Code/100 == 2; selected {
				s.hashes = name + "*"
			}
		}
		if selected {
			return s.askDigest(t, "HASH", func(r wire.Reply) (fetch.Digest, bool) {
				return parseHash(r, size)
			})
		}
	}
	if strings.ContainsAny(t.name, ` "`) {
		return nil, nil // these commands have no syntax for such a name
	}
	for _, c := range digestCommands {
		if s.features[c.verb] {
			return s.askDigest(t, c.verb, func(r wire.Reply) (fetch.Digest, bool) {
				return parseSum(r, c.algorithm)
			})
		}
	}
	return nil, nil
}

func (s *session) askDigest(
	t *task, verb string, parse func(wire.Reply) (fetch.Digest, bool),
) ([]fetch.Digest, error) {
	r, err := s.exchange(step{line: command(verb, t.name)})
	if err != nil {
		return nil, err
	}
	d, ok := parse(r)
	if !ok || r.Code/100 != 2 {
		s.control.env.Logger().Info("a stated digest is ignored",
			"url", t.req.URL.Redacted(), "command", verb, "reply", replyOf(r).String())
		return nil, nil
	}
	d.By = strings.ToLower(verb)
	return []fetch.Digest{d}, nil
}

// preferredHash returns the hash function to use from the facts of HASH in the reply to FEAT, such as
// "SHA-256*;MD5". An asterisk marks the selected one.
func preferredHash(facts string) (name string, selected bool) {
	for _, name := range hashAlgorithms {
		for fact := range strings.SplitSeq(facts, ";") {
			have, selected := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(fact)), "*")
			if have == name {
				return name, selected
			}
		}
	}
	return "", false
}

// parseHash reads "213 SHA-256 0-49 HEX NAME". The range must cover a file of size bytes, or any file
// if size is negative. Servers disagree whether its end is the last byte or the one after it.
func parseHash(r wire.Reply, size int64) (fetch.Digest, bool) {
	words := strings.Fields(r.Text())
	if len(words) < 3 {
		return fetch.Digest{}, false
	}
	begin, end, ok := strings.Cut(words[1], "-")
	last, err := strconv.ParseInt(end, 10, 64)
	if !ok || begin != "0" || err != nil || size >= 0 && last != size && last != size-1 {
		return fetch.Digest{}, false
	}
	return newDigest(fetch.CanonicalAlgorithm(words[0]), words[2])
}

// parseSum returns the only word of the reply that is a digest.
func parseSum(r wire.Reply, algorithm string) (found fetch.Digest, ok bool) {
	for word := range strings.FieldsSeq(r.Text()) {
		if d, valid := newDigest(algorithm, word); valid {
			if ok {
				return fetch.Digest{}, false
			}
			found, ok = d, true
		}
	}
	return found, ok
}

func newDigest(algorithm, digits string) (fetch.Digest, bool) {
	h := fetch.NewHash(algorithm)
	if h == nil {
		return fetch.Digest{}, false
	}
	sum, err := hex.DecodeString(digits)
	return fetch.Digest{Algorithm: algorithm, Sum: sum}, err == nil && len(sum) == h.Size()
}
