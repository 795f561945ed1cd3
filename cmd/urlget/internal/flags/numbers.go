package flags

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/download"
)

const unlimited = "inf"

// seconds returns the flag of a duration: a number of seconds, as in wget and curl, or with a unit
// ("90", "0.5", "2m"). 0 and "inf" mean no limit.
func seconds(to *time.Duration) *parsed[time.Duration] {
	return &parsed[time.Duration]{to, "seconds", parseSeconds, func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	}}
}

func parseSeconds(text string) (time.Duration, error) {
	if text == unlimited {
		return 0, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if !(n >= 0 && n <= math.MaxInt64/1e9) {
			return 0, errors.New("out of range")
		}
		return time.Duration(n * float64(time.Second)), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, errors.New("must be a number of days before d")
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("must be a number of seconds")
	}
	return d, nil
}

// showNumber returns a number, or "" for 0, which is no limit or the default.
func showNumber[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

// size returns the flag of a number of bytes, with the suffix "k", "m", "g" or "t" for powers of
// 1024, also as "kB" and "KiB". "inf" means no limit, as does 0.
func size(to *int64) *parsed[int64] { return &parsed[int64]{to, "size", parseSize, showNumber[int64]} }

// speed returns the flag of a size in bytes per second, which may be 0.
func speed(to *int64) *parsed[int64] {
	return &parsed[int64]{to, "size", parseSpeed, showNumber[int64]}
}

func parseSize(text string) (int64, error) {
	if text == unlimited {
		return 0, nil
	}
	digits, unit := strings.ToLower(text), 1.0
	if short, ok := strings.CutSuffix(digits, "b"); ok {
		digits = strings.TrimSuffix(short, "i")
	}
	if digits != "" {
		if i := strings.IndexByte("kmgt", digits[len(digits)-1]); i >= 0 {
			digits, unit = digits[:len(digits)-1], float64(int64(1)<<(10*(i+1)))
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n > 0 && n*unit >= 1 && n*unit < math.MaxInt64) {
		return 0, errors.New("must be a number of bytes such as 5000, 64k or 2m")
	}
	return int64(n * unit), nil
}

func parseSpeed(text string) (int64, error) {
	if text == "0" {
		return 0, nil
	}
	return parseSize(text)
}

func number(to *int) *parsed[int] { return &parsed[int]{to, "number", parseNumber, showNumber[int]} }

func parseNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, errors.New("must be 1 or more")
	}
	return n, nil
}

// count returns the flag of a number that may be 0. endless is the number for "inf".
func count(to *int, endless int) *parsed[int] {
	parse := func(text string) (int, error) {
		if text == unlimited {
			return endless, nil
		}
		n, err := strconv.Atoi(text)
		if errors.Is(err, strconv.ErrRange) {
			return 0, err
		}
		if err != nil || n < 0 {
			return 0, errors.New("must be 0 or more, or inf")
		}
		return n, nil
	}
	return &parsed[int]{to, "number", parse, strconv.Itoa}
}

// maxSegments is the limit of jobs.
const maxSegments = 64

func parseSegments(text string) (int, error) {
	if text == "auto" {
		return download.AutoSegments, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSegments {
		return 0, fmt.Errorf("must be 1 to %d, or auto", maxSegments)
	}
	return n, nil
}

// defaultShare is the value of --delete without one.
const defaultShare = "50%"

// parseShare reads the percentage of files that --delete may remove. 0 removes none.
func parseShare(text string) (int, error) {
	switch text {
	case "true", "yes", "on", "":
		text = defaultShare
	case "false", "no", "off":
		return 0, nil
	}
	digits, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil || n < 1 || n > 100 {
		return 0, errors.New("must be a percentage from 1% to 100%")
	}
	return int(n), nil
}
