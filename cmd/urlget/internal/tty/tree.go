package tty

import "fmt"

// A TreeCount counts the URLs of a tree. Its fields are guarded by the console's lock.
type TreeCount struct {
	Done, Failed int64
	Waiting      int64 // queued and active URLs
}

func (c *Console) treeTotals(width int) string {
	n := c.tree
	text := fmt.Sprintf("%d done · %d queued", n.Done, max(n.Waiting-int64(len(c.running)), 0))
	if n.Failed > 0 {
		text += " · " + c.Paint.Bad(fmt.Sprintf("%d failed", n.Failed))
	}
	bytes := c.bytes
	hosts := make(map[string]bool)
	from := ""
	for _, t := range c.running {
		bytes += t.done
		hosts[t.host] = true
		from = t.host
	}
	text += " · " + progressSize(bytes, -1) + " · " + SizeWord(c.display.rate.perSecond) + "/s"
	if len(hosts) > 1 {
		from = fmt.Sprintf("%d hosts", len(hosts))
	}
	if with := text + " · " + from; from != "" && columns(with) <= width {
		return with
	}
	return cut(text, width)
}

// Count changes the counts of the tree.
func (c *Console) Count(change func(n *TreeCount)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tree != nil {
		change(c.tree)
	}
}

// ShowTree shows the counts of a tree.
func (c *Console) ShowTree() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tree = &TreeCount{}
}

// From sets the host of a transfer in a tree.
func (t *Transfer) From(host string) {
	t.change(func() { t.host = host })
}
