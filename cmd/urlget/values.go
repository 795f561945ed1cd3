package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
)

// endless is what a flag may take in place of a number where 0 means that there is no end.
const endless = "inf"

// seconds is the duration of a flag: a number of seconds, as in wget and curl, or with a unit
// ("90", "0.5", "2m"). 0 and "inf" mean no limit.
type seconds time.Duration

func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(time.Duration(*s).Seconds(), 'f', -1, 64)
}

func (s *seconds) Type() string { return "seconds" }

func (s *seconds) Set(text string) error {
	if text == endless {
		*s = 0
		return nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0 && n <= math.MaxInt64/1e9) {
			return errors.New("out of range")
		}
		*s = seconds(n * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("want a number of seconds")
	}
	*s = seconds(d)
	return nil
}

// size is the number of bytes of a flag, with the suffix "k", "m", "g" or "t" for powers of 1024,
// also as "kB" and "KiB". "inf" means no limit, as does the zero value.
type size int64

func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Type() string { return "size" }

func (s *size) Set(text string) error {
	if text == endless {
		*s = 0
		return nil
	}
	lower := strings.ToLower(text)
	if short, ok := strings.CutSuffix(lower, "b"); ok {
		lower = strings.TrimSuffix(short, "i")
	}
	number, unit := lower, 1.0
	if lower != "" {
		if i := strings.IndexByte("kmgt", lower[len(lower)-1]); i >= 0 {
			number, unit = lower[:len(lower)-1], float64(int64(1)<<(10*(i+1)))
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0 && n*unit >= 1 && n*unit < math.MaxInt64) {
		return errors.New("want a number of bytes such as 5000, 64k or 2m")
	}
	*s = size(n * unit)
	return nil
}

// several are the values of a flag that may be given again.
type several []string

func (s *several) String() string { return strings.Join(*s, ",") }
func (s *several) Type() string   { return "text" }

func (s *several) Set(text string) error {
	*s = append(*s, text)
	return nil
}

// count is a flag's number of times, from least on. "inf" is the value that means no end.
type count struct {
	n           *int
	least, none int
}

func (c *count) String() string {
	if c.n == nil {
		return ""
	}
	return strconv.Itoa(*c.n)
}

func (c *count) Type() string { return "number" }

func (c *count) Set(text string) error {
	if text == endless {
		*c.n = c.none
		return nil
	}
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) {
		return err
	}
	if err != nil || n < c.least {
		return fmt.Errorf("want a number from %d, or inf", c.least)
	}
	*c.n = n
	return nil
}

// ports is the list of ports of a flag that may be given several times.
type ports []uint16

func (p *ports) String() string { return "" }

func (p *ports) Type() string { return "port" }

func (p *ports) Set(text string) error {
	for _, word := range strings.Split(text, ",") {
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil || n == 0 {
			return errors.New("want a port from 1 to 65535")
		}
		*p = append(*p, uint16(n))
	}
	return nil
}

// number is the positive number of a flag.
type number int

func (n *number) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func (n *number) Type() string { return "number" }

func (n *number) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 {
		return errors.New("want a number from 1")
	}
	*n = number(v)
	return nil
}

// date is the point in time of a flag, in the format of RFC 3339. A date alone means the beginning
// of that day in local time.
type date time.Time

func (d *date) String() string {
	if t := time.Time(*d); !t.IsZero() {
		return t.Format(time.RFC3339)
	}
	return ""
}

func (d *date) Type() string { return "date" }

func (d *date) Set(text string) error {
	t, err := time.ParseInLocation(time.DateOnly, text, time.Local)
	if err != nil {
		t, err = time.Parse(time.RFC3339, strings.ToUpper(text))
	}
	if err != nil {
		return errors.New("want a date such as 2026-01-31 or 2026-01-31T12:00:00Z")
	}
	*d = date(t)
	return nil
}

// lineEnds is the value of --text-line-ends.
type lineEnds fetch.LineEnds

func (l *lineEnds) String() string { return string(*l) }
func (l *lineEnds) Type() string   { return "how" }

func (l *lineEnds) Set(text string) error {
	switch text {
	case "lf", "crlf":
		*l = lineEnds(text)
	case "as-is":
		*l = lineEnds(fetch.LineEndsAsIs)
	default:
		return errors.New("want lf, crlf or as-is")
	}
	return nil
}

// once is the value of a flag that cannot be given twice, as the last one would be all that counts.
type once string

func (o *once) String() string { return string(*o) }
func (o *once) Type() string   { return "string" }

func (o *once) Set(text string) error {
	if *o != "" {
		return errors.New("it is given twice, and only one can be read")
	}
	*o = once(text)
	return nil
}
