package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// seconds is a flag's duration: a number of seconds, as wget and curl have it,
// or with a unit ("90", "0.5", "2m").
type seconds time.Duration

func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *seconds) Type() string { return "seconds" }

func (s *seconds) Set(text string) error {
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

// size is a flag's number of octets, with "k", "m", "g" or "t" for the powers
// of 1024.
type size int64

func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Type() string { return "size" }

func (s *size) Set(text string) error {
	number, unit := text, 1.0
	if text != "" {
		if i := strings.IndexByte("kmgt", text[len(text)-1]|0x20); i >= 0 {
			number, unit = text[:len(text)-1], float64(int64(1)<<(10*(i+1)))
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0 && n*unit >= 1 && n*unit < math.MaxInt64) {
		return errors.New("want a number of octets such as 5000, 64k or 2m")
	}
	*s = size(n * unit)
	return nil
}

// ports is a flag's list of ports, which may be given several times.
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

// number is a flag's positive number.
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

// date is a flag's point in time, as RFC 3339 writes it. A date alone means
// the beginning of the day here.
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
