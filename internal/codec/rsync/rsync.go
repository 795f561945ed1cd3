// Package rsync encodes and decodes the messages of the rsync daemon protocol, versions 27 to 31, that a
// receiver of whole files and its server exchange. There is no specification; the reference is rsync
// 3.2.7.
//
// A connection begins with lines: greetings, the name of a module, a login. Then follow the arguments of
// the server's process, binary values, and frames, which carry the file list, the contents of files and
// messages.
package rsync

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"

	//lint:ignore SA1019 the protocol has nothing else before version 30
	"golang.org/x/crypto/md4"
)

// The versions of the protocol that this package knows.
const (
	MinProtocol = 27
	MaxProtocol = 31
)

// Limits of names, in bytes. MaxPath is MAXPATHLEN of the reference.
const (
	MaxPath = 4096
	MaxLine = 8 << 10
)

// ErrMalformed is wrapped by the errors for invalid data.
var ErrMalformed = errors.New("malformed rsync data")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

const greetingPrefix = "@RSYNCD: "

// Digests are the names of the digests for logins, strongest first.
func Digests() []string { return []string{"sha512", "sha256", "sha1", "md5", "md4"} }

// Greeting returns the first line of both sides, without its line end. Digests may be empty.
func Greeting(protocol int, digests []string) string {
	line := fmt.Sprintf("%s%d.0 %s", greetingPrefix, protocol, strings.Join(digests, " "))
	return strings.TrimSuffix(line, " ")
}

// ParseGreeting returns the version of the protocol and the digests for logins in a greeting. A
// version with a subprotocol, which is a prerelease, counts as the one before.
func ParseGreeting(line string) (protocol int, digests []string, err error) {
	rest, ok := strings.CutPrefix(line, greetingPrefix)
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return 0, nil, malformed("not a greeting: %.100q", line)
	}
	version, sub, _ := strings.Cut(words[0], ".")
	if protocol, err = strconv.Atoi(version); err != nil || protocol < 0 {
		return 0, nil, malformed("not a greeting: %.100q", line)
	}
	if strings.Trim(sub, "0") != "" {
		protocol--
	}
	return protocol, words[1:], nil
}

// LoginDigest returns the strongest digest that a server offered in its greeting, or "". Servers that
// offer none use one that follows from the protocol.
func LoginDigest(protocol int, offered []string) string {
	switch {
	case len(offered) == 0 && protocol >= 30:
		return "md5"
	case len(offered) == 0:
		return "md4-seeded"
	}
	for _, name := range Digests() {
		if slices.Contains(offered, name) {
			return name
		}
	}
	return ""
}

// LoginResponse returns the response to a challenge: a digest of the password and the challenge.
func LoginResponse(digest, password, challenge string) string {
	seeded := func() hash.Hash { return NewSum(MinProtocol, 0) }
	h := map[string]func() hash.Hash{"sha512": sha512.New, "sha256": sha256.New, "sha1": sha1.New,
		"md5": md5.New, "md4": md4.New, "md4-seeded": seeded}[digest]()
	h.Write([]byte(password + challenge))
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil))
}

// SumSize is the size of the checksum of a file, in bytes.
const SumSize = 16

// NewSum returns the hash for the checksum of a whole file: MD5, or before version 30 MD4 of the seed and
// the file.
func NewSum(protocol int, seed uint32) hash.Hash {
	if protocol >= 30 {
		return md5.New()
	}
	h := md4.New()
	h.Write(binary.LittleEndian.AppendUint32(nil, seed))
	return h
}

// AppendArguments appends the arguments of the server's process.
func AppendArguments(b []byte, protocol int, args []string) []byte {
	end := byte('\n')
	if protocol >= 30 {
		end = 0
	}
	for _, a := range args {
		b = append(append(b, a...), end)
	}
	return append(b, end)
}

// Attributes of an item in a request for a file (since version 29).
const (
	ItemTransfer     = 1 << 15
	ItemIsNew        = 1 << 13
	ItemNameFollows  = 1 << 12 // ITEM_XNAME_FOLLOWS
	ItemBasisFollows = 1 << 11 // ITEM_BASIS_TYPE_FOLLOWS
	emptySumHead     = 4 * 4
)

// AppendFile appends the index of the only file of a list and, since version 29, its attributes, followed
// by the head of an empty list of block sums. The request of a file and the response have them.
func AppendFile(b []byte, protocol int) []byte {
	if protocol >= 30 {
		b = append(b, 1) // the difference to -1
	} else {
		b = AppendInt(b, 0)
	}
	if protocol >= 29 {
		b = binary.LittleEndian.AppendUint16(b, ItemTransfer|ItemIsNew)
	}
	return append(b, make([]byte, emptySumHead)...)
}

// AppendDone appends the index NDX_DONE, which ends a phase.
func AppendDone(b []byte, protocol int) []byte {
	if protocol >= 30 {
		return append(b, 0)
	}
	return AppendInt(b, -1)
}

// Phases returns the numbers of NDX_DONE with which the receiver ends its requests: before the server's
// statistics, and after them.
func Phases(protocol int) (before, after int) {
	switch {
	case protocol >= 31:
		return 3, 2
	case protocol >= 29:
		return 3, 1
	}
	return 2, 1
}
