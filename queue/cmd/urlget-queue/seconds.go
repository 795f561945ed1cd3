package main

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// Seconds is the duration of a flag that urlget get has too: a number of seconds or a duration such
// as 2m. 0 and "inf" mean no limit.
type seconds time.Duration

func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *seconds) Type() string { return "seconds" }

func (s *seconds) Set(text string) error {
	if text == "inf" {
		text = "0"
	}
	d, err := time.ParseDuration(text)
	if n, numErr := strconv.ParseFloat(text, 64); numErr == nil && n < math.MaxInt64/1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return errors.New("must be a number of seconds, or a time such as 2m")
	}
	*s = seconds(d)
	return nil
}
