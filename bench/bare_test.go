//go:build linux

package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// bareSmallFiles retrieves the files of fillSmall with the minimum of commands, EPSV and RETR, and
// without checks. It measures the cost of the server, the kernel and one connection per file.
func bareSmallFiles(addr, dir string, atOnce, count int) error {
	names := make(chan string, count)
	for i := range count {
		names <- fmt.Sprintf("file-%05d", i)
	}
	close(names)
	errs := make([]error, atOnce)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = bareSession(addr, dir, names) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func bareSession(addr, dir string, names <-chan string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	replies := bufio.NewReader(conn)
	reply := func(code string) (string, error) {
		line, err := replies.ReadString('\n')
		if err == nil && !strings.HasPrefix(line, code) {
			err = fmt.Errorf("%q, want %s", line, code)
		}
		return line, err
	}
	say := func(command, code string) (string, error) {
		if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
			return "", err
		}
		return reply(code)
	}
	if _, err := reply("220"); err != nil {
		return err
	}
	for _, s := range [][2]string{{"USER anonymous", "230"}, {"TYPE I", "200"}, {"CWD many", "250"}} {
		if _, err := say(s[0], s[1]); err != nil {
			return err
		}
	}
	buf := make([]byte, 64<<10)
	retrieve := func(name string) error {
		line, err := say("EPSV", "229")
		if err != nil {
			return err
		}
		data, err := net.Dial("tcp", "127.0.0.1:"+strings.Split(line, "|")[3])
		if err != nil {
			return err
		}
		defer data.Close()
		if _, err := say("RETR "+name, "150"); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{data}, buf); err != nil {
			return err
		}
		data.Close() // vsftpd waits for this
		_, err = reply("226")
		return err
	}
	for name := range names {
		if err := retrieve(name); err != nil {
			return err
		}
	}
	return nil
}
