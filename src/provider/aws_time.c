/* aws_time.c: converts days to dates and back, without the C library's calendar and time zones. */
#include "provider/aws_time.h"

#include <stdio.h>

enum { DAY_SECONDS = 86400 };

static const int64_t moment_min = -62135596800; /* 0001-01-01T00:00:00Z */
static const int64_t moment_max = 253402300799; /* 9999-12-31T23:59:59Z */

/* Days since 1970-01-01. The year starts in March, so that the leap day is its last. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t century4 = (y >= 0 ? y : y - 399) / 400;
    int64_t year_in = y - century4 * 400;
    int64_t day_in = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return century4 * 146097 + year_in * 365 + year_in / 4 - year_in / 100 + day_in - 719468;
}

static void date_from_days(int64_t days, int *ret_year, int *ret_month, int *ret_day)
{
    int64_t z = days + 719468;
    int64_t century4 = (z >= 0 ? z : z - 146096) / 146097;
    int64_t day_in = z - century4 * 146097;
    int64_t year_in = (day_in - day_in / 1460 + day_in / 36524 - day_in / 146096) / 365;
    int64_t day_of_year = day_in - (365 * year_in + year_in / 4 - year_in / 100);
    int64_t month_in = (5 * day_of_year + 2) / 153;
    *ret_day = (int)(day_of_year - (153 * month_in + 2) / 5 + 1);
    *ret_month = (int)(month_in < 10 ? month_in + 3 : month_in - 9);
    *ret_year = (int)(year_in + century4 * 400 + (*ret_month <= 2));
}

void aws_time_basic(int64_t moment, char ret_text[AWS_TIME_SIZE])
{
    int year;
    int month;
    int day;
    moment = moment < moment_min ? moment_min : moment > moment_max ? moment_max : moment;
    int64_t days = (moment >= 0 ? moment : moment - (DAY_SECONDS - 1)) / DAY_SECONDS;
    int left = (int)(moment - days * DAY_SECONDS);
    date_from_days(days, &year, &month, &day);
    /* The remainders have no effect; they tell the compiler the maximum length of the text. */
    snprintf(ret_text, AWS_TIME_SIZE, "%04u%02u%02uT%02u%02u%02uZ", (unsigned)year % 10000,
             (unsigned)month % 100, (unsigned)day % 100, (unsigned)left / 3600 % 100,
             (unsigned)left / 60 % 60, (unsigned)left % 60);
}

void aws_time_iso(int64_t moment, char ret_text[AWS_TIME_ISO_SIZE])
{
    char basic[AWS_TIME_SIZE];
    aws_time_basic(moment, basic);
    snprintf(ret_text, AWS_TIME_ISO_SIZE, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", basic, basic + 4,
             basic + 6, basic + 9, basic + 11, basic + 13);
}

/* Reads exactly `count` digits. */
static bool aws_time_take_number(struct str *text, size_t count, int64_t *ret_value)
{
    int64_t value = 0;
    if (text->len < count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (text->ptr[i] < '0' || text->ptr[i] > '9') {
            return false;
        }
        value = value * 10 + (text->ptr[i] - '0');
    }
    *text = str_sub(*text, count, text->len);
    *ret_value = value;
    return true;
}

static bool take_any_of(struct str *text, const char *set)
{
    for (; *set != '\0'; set++) {
        if (text->len > 0 && text->ptr[0] == *set) {
            *text = str_sub(*text, 1, text->len);
            return true;
        }
    }
    return false;
}

/* Reads the time zone as an offset in seconds to subtract. */
static bool parse_zone(struct str text, int64_t *ret_offset)
{
    int64_t hours;
    int64_t minutes;
    bool is_west = str_starts(text, "-");
    if (text.len == 0 || str_is(text, "Z") || str_is(text, "z") || str_is(text, "UTC")) {
        *ret_offset = 0;
        return true;
    }
    if (!take_any_of(&text, "+-") || !aws_time_take_number(&text, 2, &hours)) {
        return false;
    }
    (void)take_any_of(&text, ":");
    if (!aws_time_take_number(&text, 2, &minutes) || text.len > 0 || hours > 23 || minutes > 59) {
        return false;
    }
    *ret_offset = (hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
    return true;
}

static int64_t days_in_month(int64_t year, int64_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && is_leap ? 29 : days[month - 1];
}

static bool aws_time_take_fraction(struct str *text)
{
    int64_t digit;
    if (!take_any_of(text, ".")) {
        return true;
    }
    if (!aws_time_take_number(text, 1, &digit)) {
        return false;
    }
    while (aws_time_take_number(text, 1, &digit)) {
    }
    return true;
}

bool aws_time_parse(struct str text, int64_t *ret_moment)
{
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t offset;
    bool is_date = aws_time_take_number(&text, 4, &year) && take_any_of(&text, "-") &&
                   aws_time_take_number(&text, 2, &month) && take_any_of(&text, "-") &&
                   aws_time_take_number(&text, 2, &day) && take_any_of(&text, "Tt ");
    if (!is_date || year < 1 || month < 1 || month > 12 || day < 1 ||
        day > days_in_month(year, month)) {
        return false;
    }
    bool is_clock = aws_time_take_number(&text, 2, &hour) && take_any_of(&text, ":") &&
                    aws_time_take_number(&text, 2, &minute) && take_any_of(&text, ":") &&
                    aws_time_take_number(&text, 2, &second) && aws_time_take_fraction(&text);
    if (!is_clock || hour > 23 || minute > 59 || second > 59 || !parse_zone(text, &offset)) {
        return false;
    }
    *ret_moment = days_from_date(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 +
                  second - offset;
    return true;
}

static bool take_month(struct str *text, int64_t *ret_month)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct str name = str_sub(*text, 0, 3);
    for (int64_t month = 0; month < 12 && name.len == 3; month++) {
        if (str_eq(name, (struct str){names + 3 * month, 3})) {
            *ret_month = month + 1;
            *text = str_sub(*text, 3, text->len);
            return true;
        }
    }
    return false;
}

bool aws_time_parse_http(struct str text, int64_t *ret_moment)
{
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t hour;
    int64_t minute;
    int64_t second;
    size_t comma = str_find_char(text, ',');
    if (comma == SIZE_MAX) {
        return false;
    }
    text = str_sub(text, comma + 1, text.len);
    bool is_date = take_any_of(&text, " ") && aws_time_take_number(&text, 2, &day) &&
                   take_any_of(&text, " ") && take_month(&text, &month) &&
                   take_any_of(&text, " ") && aws_time_take_number(&text, 4, &year);
    if (!is_date || year < 1 || day < 1 || day > days_in_month(year, month)) {
        return false;
    }
    bool is_clock = take_any_of(&text, " ") && aws_time_take_number(&text, 2, &hour) &&
                    take_any_of(&text, ":") && aws_time_take_number(&text, 2, &minute) &&
                    take_any_of(&text, ":") && aws_time_take_number(&text, 2, &second);
    if (!is_clock || hour > 23 || minute > 59 || second > 60 || !str_is(text, " GMT")) {
        return false;
    }
    *ret_moment = days_from_date(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 +
                  second;
    return true;
}
