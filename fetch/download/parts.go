package download

import (
	"strings"
	"sync"
	"time"
)

const (
	// leastLooks is the number of files that are looked up, one by one, before a directory is read instead.
	leastLooks = 16
	// maxRead limits the names read from a directory.
	maxRead = 4096
	// partsValid is the time for which the names are used. A part that another process makes meanwhile
	// belongs to a transfer of that process. It stays, as if it had been made after a look.
	partsValid = time.Second
)

// earlierParts has the names of the parts in a directory. If many small files are saved in a second, reading
// the directory once costs less than a look for the part of each.
type earlierParts struct {
	mu    sync.Mutex
	names map[string]bool
	until time.Time // when names may be outdated
	looks int       // files that were looked up since
	least int       // looks after which the directory is read
}

// hasPart reports whether a new file has a part from an earlier run. If that is unknown, it returns true.
func (d *cachedDir) hasPart(name string) bool {
	if known, has := d.parts.find(d.directory, stemOf(name)+partSuffix); known {
		return has
	}
	return hasPart(d.directory, name)
}

func (p *earlierParts) find(dir directory, part string) (known, has bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.After(p.until) {
		if p.looks++; p.looks <= max(p.least, leastLooks) {
			return false, false
		}
		names, err := dir.read(maxRead)
		p.looks, p.least = 0, len(names)
		if err != nil || len(names) == maxRead {
			return false, false
		}
		p.names, p.until = map[string]bool{}, now.Add(partsValid)
		for _, name := range names {
			if strings.HasSuffix(name, partSuffix) {
				p.names[name] = true
			}
		}
	}
	return true, p.names[part]
}

// read returns up to n names in the directory.
func (d *osDir) read(n int) ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(n)
	if len(names) == 0 && err != nil && !isEnd(err) {
		return nil, err
	}
	return names, nil
}
