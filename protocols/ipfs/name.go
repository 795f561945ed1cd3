package ipfs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxNames limits the names that lead to a CID.
const maxNames = 8

// A name is the host of an ipns URL: a key, or a domain with a DNSLink.
type name struct {
	key    cid
	domain string // "" for a key
}

func parseName(text string) (name, error) {
	if strings.Contains(text, ".") {
		return name{domain: strings.ToLower(text)}, nil
	}
	if len(text) > maxCIDText {
		return name{}, errCID
	}
	id, err := parseCID(text)
	if err == nil && (id.codec == codecKey || id.codec == codecDagPB) { // version 0, as for files
		id.codec = codecKey
		return name{key: id}, nil
	}
	if b, err := decodeDigits(text, base58); err == nil { // a peer ID, which is only a multihash
		if id, err := readMultihash(codecKey, b); err == nil && id.hash == hashInline {
			return name{key: id}, nil
		}
	}
	return name{}, errors.New("neither a domain nor an IPNS name")
}

func (n name) dnslink() string { return "_dnslink." + strings.TrimSuffix(n.domain, ".") + "." }

func (g *gateway) recordURL(key cid) uri.URI {
	return uri.MustParse(g.base + "ipns/" + key.String() + "?format=ipns-record")
}

// resolveName returns the root and the path below it to which a name leads.
func (s *source) resolveName(ctx context.Context, n name) (root cid, path []string, err error) {
	for range maxNames {
		var value string
		if n.domain != "" {
			value, err = s.dnslink(ctx, n)
		} else {
			value, err = s.record(ctx, n.key)
		}
		if err != nil {
			return cid{}, nil, err
		}
		kind, first, rest, err := splitPath(value)
		if err != nil {
			return cid{}, nil, damaged("%.100q, to which the name leads: %w", value, err)
		}
		path = append(rest, path...)
		if len(path) > maxPath {
			return cid{}, nil, damaged("the names lead to a path that is too long")
		}
		if kind == "ipfs" {
			if root, err = parseCID(first); err == nil {
				return root, path, root.check()
			}
		} else {
			n, err = parseName(first)
		}
		if err != nil {
			return cid{}, nil, damaged("%.100q, to which the name leads: %w", value, err)
		}
	}
	return cid{}, nil, damaged("more than %d names lead to each other", maxNames)
}

// splitPath splits a path such as "/ipfs/CID/directory".
func splitPath(path string) (kind, first string, rest []string, err error) {
	parts := strings.Split(strings.TrimRight(path, "/"), "/")
	if len(parts) < 3 || parts[0] != "" || parts[1] != "ipfs" && parts[1] != "ipns" {
		return "", "", nil, errors.New("not a path of ipfs or ipns")
	}
	for _, name := range parts[3:] {
		if name == "" || name == "." || name == ".." || strings.ContainsRune(name, 0) {
			return "", "", nil, errors.New("not a path of ipfs or ipns")
		}
	}
	return parts[1], parts[2], parts[3:], nil
}

// record returns the value of the record of a key.
func (s *source) record(ctx context.Context, key cid) (string, error) {
	if key.hash != hashInline && (key.hash != hashSHA256 || len(key.digest) != 32) {
		return "", unsupported("hash function 0x%x of the name %s is not supported", key.hash, key)
	}
	b, _, err := s.get(ctx, s.gateway.recordURL(key), recordType, maxRecord)
	if err != nil {
		return "", gatewayError("record of "+key.String()+" from "+s.gateway.base, err)
	}
	if len(b) > maxRecord {
		return "", damaged("the gateway %s sends more than %d bytes for a record", s.gateway.base, maxRecord)
	}
	value, err := readRecord(key, b, time.Now())
	if err != nil {
		return "", damaged("record of %s from %s: %w", key, s.gateway.base, err)
	}
	return value, nil
}

// dnslink returns the path in the TXT records of a domain (https://dnslink.dev).
func (s *source) dnslink(ctx context.Context, n name) (string, error) {
	records, err := s.env.LookupTXT(ctx, n.dnslink())
	if err != nil {
		return "", err
	}
	slices.Sort(records) // the order of the DNS has no meaning
	for _, text := range records {
		if path, ok := strings.CutPrefix(text, "dnslink="); ok {
			return path, nil
		}
	}
	return "", fetch.ErrNotFound.Errorf("%s has no DNSLink", n.domain)
}
