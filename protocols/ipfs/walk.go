package ipfs

import (
	"context"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

const (
	// maxSymlinks limits the symbolic links that a path leads through.
	maxSymlinks = 40
	// maxShard limits a block of a HAMT directory, in bytes.
	maxShard = 1 << 20
)

// A tree is the tree of files below a root.
type tree struct {
	*source
	root cid
}

// resolve returns the node at a path, and the path without symbolic links.
func (t *tree) resolve(ctx context.Context, names []string) (*node, []string, error) {
	for range maxSymlinks {
		n, at, err := t.walk(ctx, names)
		if err != nil {
			return nil, nil, err
		}
		if n.kind != kindSymlink {
			return n, names, nil
		}
		if names, err = follow(names[:max(at-1, 0)], string(n.data), names[at:]); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fetch.ErrServer.Errorf("too many levels of symbolic links (more than %d)", maxSymlinks)
}

// walk returns the node at a path or the first symbolic link on it, which is that of names[:at].
func (t *tree) walk(ctx context.Context, names []string) (n *node, at int, err error) {
	if n, err = t.node(ctx, t.root, maxBlock); err != nil {
		return nil, 0, err
	}
	for at < len(names) && n.kind != kindSymlink {
		if !n.isDirectory() {
			return nil, 0, notFound(names[:at+1], "the path leads through a file")
		}
		l, ok, err := t.lookup(ctx, n, names[at])
		if err != nil {
			return nil, 0, err
		}
		at++
		if !ok {
			return nil, 0, notFound(names[:at], "no such file or directory")
		}
		if n, err = t.node(ctx, l.id, maxBlock); err != nil {
			return nil, 0, err
		}
	}
	return n, at, nil
}

func notFound(names []string, why string) error {
	return fetch.ErrNotFound.Errorf("%s: %s", fetch.Printable("/"+strings.Join(names, "/")), why)
}

// follow returns the path to which a symbolic link in the directory dir leads. Rest is the path after it.
func follow(dir []string, target string, rest []string) ([]string, error) {
	names, inside := remotefile.Join(dir, remotefile.Elements(target))
	switch {
	case !inside, strings.HasPrefix(target, "/"):
		return nil, errOutside()
	case len(names)+len(rest) > maxPath:
		return nil, fetch.ErrServer.Errorf("the symbolic links make the path too long")
	}
	return append(names, rest...), nil
}

func errOutside() error { return fetch.ErrPolicy.Errorf("a symbolic link leads out of the tree") }

// lookup returns the link of a member of a directory.
func (t *tree) lookup(ctx context.Context, n *node, name string) (link, bool, error) {
	hash, used := murmur3(name), 0
	for n.kind == kindShard {
		below, pos, err := n.child(hash, used)
		if err != nil {
			return link{}, false, err
		}
		var next *link
		for i, l := range n.links {
			switch {
			case n.position(l) != pos:
			case len(l.name) == n.prefix():
				next = &n.links[i]
			case l.name[n.prefix():] == name:
				return l, true, nil
			}
		}
		if next == nil {
			return link{}, false, nil
		}
		if n, err = t.shard(ctx, next.id); err != nil {
			return link{}, false, err
		}
		used = below
	}
	for _, l := range n.links {
		if l.name == name {
			return l, true, nil
		}
	}
	return link{}, false, nil
}

// shard returns a block of a HAMT directory below the first one.
func (t *tree) shard(ctx context.Context, id cid) (*node, error) {
	n, err := t.node(ctx, id, maxShard)
	if err != nil {
		return nil, err
	}
	return n, checkShard(n)
}

func checkShard(n *node) error {
	if n.kind != kindShard {
		return damaged("block %s: not a part of a HAMT directory", n.id)
	}
	return nil
}

// child returns the position that a hash selects in a shard, after the bits that the shards above used,
// and the bits used then.
func (n *node) child(hash uint64, used int) (below int, pos uint64, err error) {
	below = used + n.bits
	if below > 64 {
		return 0, 0, damaged("block %s: the HAMT directory is too deep", n.id)
	}
	return below, hash >> (64 - below) & (1<<n.bits - 1), nil
}
