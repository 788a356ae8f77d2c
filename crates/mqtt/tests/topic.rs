//! Topic names and filters: the examples of MQTT 5.0, 4.7, and its rules.

use sealstone_mqtt::{Error, Filter, Topic};

#[test]
fn the_examples_of_mqtt_5_section_4_7() {
    for (filter, takes, not) in [
        (
            "sport/tennis/player1/#",
            &["sport/tennis/player1", "sport/tennis/player1/ranking"][..],
            &["sport/tennis"][..],
        ),
        ("sport/#", &["sport"], &["sports"]),
        ("#", &["a", "/", "a/b"], &["$SYS/x"]),
        ("sport/tennis/+", &["sport/tennis/player1"], &["sport/tennis/player1/ranking"]),
        ("sport/+", &["sport/"], &["sport"]),
        ("+/+", &["/finance"], &["$SYS/x"]),
        ("/+", &["/finance"], &["finance"]),
        ("+", &["finance"], &["/finance"]),
        ("+/monitor/Clients", &[], &["$SYS/monitor/Clients"]),
        ("$SYS/#", &["$SYS/", "$SYS"], &["a"]),
        ("$SYS/monitor/+", &["$SYS/monitor/Clients"], &[]),
    ] {
        let filter = Filter::new(filter).unwrap();
        for name in takes {
            assert!(filter.matches(Topic::new(name).unwrap()), "{filter} takes {name}");
        }
        for name in not {
            assert!(!filter.matches(Topic::new(name).unwrap()), "{filter} does not take {name}");
        }
    }
}

#[test]
fn what_is_no_topic_and_no_filter() {
    let long = "a".repeat(65_536);
    for name in ["", "a/+", "#", "a\0b", &long] {
        assert_eq!(Topic::new(name).err(), Some(Error::BadTopic), "{:.20}", name);
    }
    for filter in ["", "a/#/b", "a+", "#a", "+a/b", "a\0", "##", &long] {
        assert_eq!(Filter::new(filter).err(), Some(Error::BadTopic), "{:.20}", filter);
    }
    assert!(Topic::new(&long[1..]).is_ok());
    assert_eq!(Topic::from_bytes(b"\xff").err(), Some(Error::BadTopic));
}

#[test]
fn the_device_of_a_topic() {
    let filter = Filter::new("device/+/#").unwrap();
    assert_eq!(filter.first_wild(Topic::new("device/7/telemetry").unwrap()), Some("7"));
    assert_eq!(filter.first_wild(Topic::new("device//telemetry").unwrap()), None);
    assert_eq!(filter.first_wild(Topic::new("other/7/telemetry").unwrap()), None);
    assert_eq!(Filter::new("device/#").unwrap().first_wild(Topic::new("device/7").unwrap()), None);
}
