package fetchtest

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetchtest/servers"
)

// startTreeServer starts a server of the scheme x-tree. A request is a verb, a path and numbers,
// separated by tabs. A response is a line and the announced data:
//
//	GET path offset length    200 size         and size bytes
//	STAT path                 200 size
//	LIST path                 200 list         and lines: "d" or "f", size, name; and "."
//	                          404 reason
func startTreeServer(t testing.TB, tree fs.FS) *servers.Server {
	t.Helper()
	return servers.Start(t, servers.Config{Scheme: "x-tree"}, func(c *servers.Conn) {
		for {
			line, err := c.ReadLine()
			if err != nil || answer(c, tree, strings.Split(line, "\t")) != nil {
				return
			}
		}
	})
}

func answer(c *servers.Conn, tree fs.FS, words []string) error {
	if len(words) < 2 || words[0] == "GET" && len(words) < 4 {
		return c.Reply("400 bad request")
	}
	name := path.Clean(strings.TrimSuffix(words[1], "/"))
	info, err := fs.Stat(tree, name)
	if err != nil || (words[0] == "LIST") != info.IsDir() {
		return c.Reply("404 no %s", name)
	}
	switch words[0] {
	case "STAT":
		return c.Reply("200 %d", info.Size())
	case "LIST":
		entries, _ := fs.ReadDir(tree, name)
		var lines strings.Builder
		for _, e := range entries {
			kind, size := "f", int64(0)
			if info, err := e.Info(); err == nil {
				size = info.Size()
			}
			if e.IsDir() {
				kind = "d"
			}
			fmt.Fprintf(&lines, "%s\t%d\t%s\r\n", kind, size, e.Name())
		}
		return send(c, "200 list", []byte(lines.String()), ".\r\n")
	}
	data, _ := fs.ReadFile(tree, name)
	offset, _ := strconv.Atoi(words[2])
	length, _ := strconv.Atoi(words[3])
	data = data[min(offset, len(data)):]
	if length > 0 {
		data = data[:min(length, len(data))]
	}
	return send(c, fmt.Sprintf("200 %d", len(data)), data, "")
}

func send(c *servers.Conn, reply string, content []byte, end string) error {
	b, ok := c.Content(int64(len(content)))
	if !ok {
		return nil
	}
	c.Printf("%s", reply)
	b.Write(content)
	if _, err := b.End(); err != nil {
		return err
	}
	_, err := c.Write([]byte(end))
	return err
}
