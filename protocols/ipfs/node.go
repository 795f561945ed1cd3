package ipfs

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

const (
	// maxLinks limits the links of a block.
	maxLinks = 1 << 16
	// maxName limits a name in a directory, in bytes.
	maxName = 1024
	// maxTarget limits the target of a symbolic link, in bytes.
	maxTarget = 4096
	// maxFanout limits the positions of a block of a HAMT directory.
	maxFanout = 1024
)

var errEncoding = errors.New("malformed dag-pb or UnixFS")

// A field is a field of a Protocol Buffers message: a varint or bytes.
type field struct {
	number uint64
	value  uint64
	bytes  []byte // nil for a number
}

func protoVarint(b []byte) (v uint64, rest []byte, ok bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}

// fields calls f for each field of a message.
func fields(b []byte, f func(field) error) error {
	for len(b) > 0 {
		key, rest, ok := protoVarint(b)
		if !ok {
			return errEncoding
		}
		x := field{number: key >> 3}
		switch key & 7 {
		case 0:
			if x.value, rest, ok = protoVarint(rest); !ok {
				return errEncoding
			}
		case 1, 5: // fixed size, in no field that matters
			size := map[uint64]int{1: 8, 5: 4}[key&7]
			if len(rest) < size {
				return errEncoding
			}
			rest = rest[size:]
		case 2:
			n, after, ok := protoVarint(rest)
			if !ok || n > uint64(len(after)) {
				return errEncoding
			}
			x.bytes, rest = after[:n:n], after[n:]
		default:
			return errEncoding
		}
		if key&7 == 0 || key&7 == 2 {
			if err := f(x); err != nil {
				return err
			}
		}
		b = rest
	}
	return nil
}

// A link is a link of a dag-pb block (https://ipld.io/specs/codecs/dag-pb/spec/).
type link struct {
	id   cid
	name string
	size uint64 // Tsize: of the blocks below, as the author states it
}

type nodeKind uint8

const (
	kindFile nodeKind = iota
	kindDirectory
	kindShard // of a HAMT directory
	kindSymlink
)

// A node is a decoded block (https://specs.ipfs.tech/unixfs/).
type node struct {
	id    cid
	kind  nodeKind
	data  []byte // of a file, before that of the links; or the target of a symbolic link
	size  int64  // of a file
	links []link
	// sizes are the sizes of the links of a file.
	sizes []int64
	bits  int // of a hash that select a link of a shard
	mtime time.Time
}

func (n *node) isDirectory() bool { return n.kind == kindDirectory || n.kind == kindShard }

// parseNode decodes the block of id, which has been verified.
func parseNode(id cid, block []byte) (*node, error) {
	n := &node{id: id}
	if id.codec == codecRaw {
		n.data, n.size = block, int64(len(block))
		return n, nil
	}
	data, err := n.parseLinks(block)
	if err != nil {
		return nil, malformed(id, err)
	}
	if err := n.parseUnixFS(data); err != nil {
		return nil, malformed(id, err)
	}
	return n, nil
}

func (n *node) parseLinks(block []byte) (data []byte, err error) {
	found := false
	err = fields(block, func(f field) error {
		switch {
		case f.number == 1 && f.bytes != nil && !found:
			data, found = f.bytes, true
		case f.number == 2 && f.bytes != nil && len(n.links) < maxLinks:
			l, err := parseLink(f.bytes)
			n.links = append(n.links, l)
			return err
		default:
			return errEncoding
		}
		return nil
	})
	if err == nil && !found {
		err = errors.New("not UnixFS")
	}
	return data, err
}

func parseLink(b []byte) (l link, err error) {
	err = fields(b, func(f field) error {
		switch f.number {
		case 1:
			l.id, err = readCID(f.bytes)
			return err
		case 2:
			if len(f.bytes) > maxName {
				return errors.New("name too long")
			}
			l.name = string(f.bytes)
		case 3:
			l.size = f.value
		}
		return nil
	})
	if err == nil && l.id == (cid{}) {
		err = errEncoding
	}
	return l, err
}

// Types of UnixFS nodes.
const (
	typeRaw       = 0
	typeDirectory = 1
	typeFile      = 2
	typeSymlink   = 4
	typeShard     = 5
)

func (n *node) parseUnixFS(b []byte) error {
	kind, stated, hash, fanout := uint64(math.MaxUint64), int64(-1), uint64(0), uint64(0)
	err := fields(b, func(f field) error {
		var err error
		switch f.number {
		case 1:
			kind = f.value
		case 2:
			n.data = f.bytes
		case 3:
			stated, err = size(f.value)
		case 4:
			err = n.parseSizes(f)
		case 5:
			hash = f.value
		case 6:
			fanout = f.value
		case 8:
			n.mtime, err = parseTime(f.bytes)
		}
		return err
	})
	if err != nil {
		return err
	}
	switch kind {
	case typeRaw, typeFile:
		return n.file(stated)
	case typeDirectory:
		n.kind = kindDirectory
	case typeShard:
		n.kind = kindShard
		return n.shard(hash, fanout)
	case typeSymlink:
		n.kind = kindSymlink
		if len(n.data) == 0 || len(n.data) > maxTarget {
			return errors.New("invalid target of a symbolic link")
		}
	default:
		return errEncoding
	}
	return nil
}

func size(v uint64) (int64, error) {
	if v > math.MaxInt64 {
		return 0, errEncoding
	}
	return int64(v), nil
}

// parseSizes reads blocksizes, one number or a packed list.
func (n *node) parseSizes(f field) error {
	rest, v, ok := f.bytes, f.value, true
	for {
		if f.bytes != nil {
			if len(rest) == 0 {
				return nil
			}
			if v, rest, ok = protoVarint(rest); !ok {
				return errEncoding
			}
		}
		s, err := size(v)
		if err != nil || len(n.sizes) == maxLinks {
			return errEncoding
		}
		n.sizes = append(n.sizes, s)
		if f.bytes == nil {
			return nil
		}
	}
}

// parseTime reads the seconds of a UnixTime. Its fraction has a fixed size, which fields skips.
func parseTime(b []byte) (t time.Time, err error) {
	err = fields(b, func(f field) error {
		if f.number == 1 {
			t = time.Unix(int64(f.value), 0).UTC()
		}
		return nil
	})
	return t, err
}

func (n *node) file(stated int64) error {
	if len(n.sizes) != len(n.links) {
		return errors.New("the number of sizes differs from that of links")
	}
	n.size = int64(len(n.data))
	for _, s := range n.sizes {
		if s > math.MaxInt64-n.size {
			return errEncoding
		}
		n.size += s
	}
	if stated >= 0 && stated != n.size {
		return errors.New("the size of a file differs from the sum of its parts")
	}
	return nil
}

func (n *node) shard(hash, fanout uint64) error {
	if hash != 0x22 { // murmur3-x64-64
		return errors.New("the hash function of a HAMT directory is not murmur3")
	}
	if fanout < 8 || fanout > maxFanout || fanout&(fanout-1) != 0 {
		return errors.New("invalid fanout of a HAMT directory")
	}
	n.bits = bits.TrailingZeros64(fanout)
	width := n.prefix()
	for _, l := range n.links {
		if len(l.name) < width {
			return errEncoding
		}
		if pos, err := strconv.ParseUint(l.name[:width], 16, 64); err != nil || pos >= fanout ||
			strings.ToUpper(l.name[:width]) != l.name[:width] {
			return errEncoding
		}
	}
	return nil
}

// prefix returns the number of hexadecimal digits before each name of a shard, which are its position.
func (n *node) prefix() int { return (n.bits + 3) / 4 }

// position returns the position of a link of a shard.
func (n *node) position(l link) uint64 {
	pos, _ := strconv.ParseUint(l.name[:n.prefix()], 16, 64) // shard has checked it
	return pos
}
